import { readFile } from 'node:fs/promises'
import {
  type GraphQLField,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  printSchema,
} from 'graphql'
import t from 'tap'
import { typesOf } from '../../scripts/client-schema/types.ts'
import { schema } from '../../src/endpoints/graphql/schema.ts'

const types = Object.values(schema.getTypeMap()).filter(
  type => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
)

t.test('the committed schema.graphql matches the schema', async t => {
  const committed = await readFile(new URL('../schema.graphql', import.meta.url), 'utf8')
  t.equal(`${printSchema(schema)}\n`, committed, 'else run: node scripts/print-schema.ts')
  const types = await readFile(new URL('../../packages/client/src/schema.ts', import.meta.url), 'utf8')
  t.equal(typesOf(schema), types, 'else run: node scripts/client-schema.ts')
})

t.test('everything has a description', async t => {
  const described = new Map<string, string | null | undefined>()
  for (const type of types) {
    described.set(type.name, type.description)
    if (isEnumType(type))
      for (const value of type.getValues()) described.set(`${type}.${value.name}`, value.description)
    if (isInputObjectType(type))
      for (const field of Object.values(type.getFields())) described.set(`${type}.${field.name}`, field.description)
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const field of Object.values(type.getFields())) {
      described.set(`${type}.${field.name}`, field.description)
      for (const arg of field.args) described.set(`${type}.${field.name}(${arg.name})`, arg.description)
    }
  }
  t.ok(described.size > 200, 'the test visits the whole schema')
  const wanting = [...described].filter(([, text]) => !/^\S.*[.:\w`]$/su.test(text ?? ''))
  t.same(wanting, [])
})

interface Options {
  authScopes?: object
  resolve?: (...args: unknown[]) => unknown
}

const options = (field: GraphQLField<unknown, unknown>) => field.extensions.pothosOptions as Options

t.test('every root field has a rule', async t => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(type =>
    Object.values(type?.getFields() ?? {}),
  )
  t.ok(roots.length > 30)
  t.same(
    roots.filter(field => options(field).authScopes === undefined).map(field => field.name),
    [],
  )
  t.same(
    roots.filter(field => JSON.stringify(options(field).authScopes) === '{"public":true}').map(field => field.name),
    [
      'installation',
      'invitedLinkUrl',
      'linkInvite',
      'passkeySignIn',
      'completeLogin',
      'linkInvitedIdentity',
      'login',
      'register',
      'requestPasswordReset',
      'resetPassword',
      'signInWithPasskey',
    ],
    'only these fields are public',
  )
})

t.test('every field whose resolver uses the context has a rule', async t => {
  const reaching = types
    .filter(type => isObjectType(type) || isInterfaceType(type))
    .flatMap(type => Object.values(type.getFields()).map(field => ({ name: `${type}.${field.name}`, field })))
    // The third parameter of a resolver is the context, through which it calls the services.
    .filter(({ field }) => (options(field).resolve?.length ?? 0) > 2)
  t.ok(reaching.some(({ name }) => name === 'Folder.entries'))
  t.same(
    reaching.filter(({ field }) => options(field).authScopes === undefined).map(({ name }) => name),
    [],
  )
})
