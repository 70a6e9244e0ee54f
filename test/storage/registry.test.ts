/** Loads adapters from data URLs. test/nightly/package.test.ts loads installed packages. */
import t from 'tap'
import { loadAdapters } from '../../src/storage/registry.ts'

const module = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
const definition = (more: object) => {
  const fields = { type: 'mine', apiVersion: 1, title: 'Mine', configSchema: { type: 'object', properties: {} } }
  return module(`export default { ...${JSON.stringify({ ...fields, ...more })}, open: async () => ({}) }`)
}

const form = (more: object) => ({ configSchema: { type: 'object', properties: { user: { type: 'string' } }, ...more } })
const choice = (option: object) => ({
  choices: [{ title: 'Sign in with', options: [{ title: 'Nothing', properties: [] }, option] }],
})

async function load(...packages: string[]) {
  const warnings: string[] = []
  const options = { builtIn: [], packages, warn: (message: string) => warnings.push(message), loadTimeout: 1500 }
  const types = (await loadAdapters(options)).list().map(({ definition }) => definition.type)
  return { types, warnings }
}

t.test('a package that never finishes loading does not block the others', async t => {
  const { types, warnings } = await load(module('await new Promise(() => {})'), definition({}))
  t.same(types, ['mine'])
  t.match(warnings, [/was skipped: it has not loaded within 1.5 seconds\.$/])
})

t.test('an adapter that would fail later is refused at once', async t => {
  const refused: [string, object][] = [
    ['its configSchema is asynchronous', { configSchema: { $async: true, type: 'object', properties: {} } }],
    ['its configSchema does not describe an object with properties', { configSchema: { type: 'object' } }],
    ['its oauth has no authorizeUrl function', { oauth: {} }],
    ['it has no title', { title: null }],
    ['its group is not one of server, account and remote', { group: 'moon' }],
    ['its configSchema cannot be used: its choices are not a list of at most 12', form({ choices: 'two' })],
    [
      'its configSchema cannot be used: a choice needs a title and at least two options',
      form({ choices: [{ title: 'Sign in with', options: [{ title: 'Nothing', properties: [] }] }] }),
    ],
    [
      'its configSchema cannot be used: the option "A key" names a property "key" that is not there',
      form(choice({ title: 'A key', properties: ['key'] })),
    ],
    [
      'its configSchema cannot be used: the option "A key" requires "user", which is not among its properties',
      form(choice({ title: 'A key', properties: [], required: ['user'] })),
    ],
    [
      'its configSchema cannot be used: the link of the step "Look" needs a title and an https address',
      form({ steps: [{ text: 'Look', link: { title: 'Here', url: 'javascript:alert(1)' } }] }),
    ],
  ]
  for (const [why, more] of refused) {
    const { types, warnings } = await load(definition(more))
    t.same(types, [])
    t.match(warnings, [new RegExp(`was skipped: ${why}\\.$`)])
  }
})

t.test('the first of two adapters of one type is used', async t => {
  const { types, warnings } = await load(definition({}), definition({ title: 'Another' }))
  t.same(types, ['mine'])
  t.match(warnings, [/the type "mine" is taken by another adapter\.$/])
})

t.test('the other packages load after any exception in one', async t => {
  const thrown: [string, RegExp][] = [
    ['Object.create(null)', /it throws \[Object: null prototype\] \{\}\.$/],
    ['{ toString() { throw 1 } }', /it throws \{ toString: \[Function: toString\] \}\.$/],
    ['Symbol("odd")', /it throws Symbol\(odd\)\.$/],
    ['Object.assign(new Error("x"), { message: {} })', /it throws /],
  ]
  for (const [value, why] of thrown) {
    const { types, warnings } = await load(module(`throw ${value}`), definition({}))
    t.same(types, ['mine'], value)
    t.match(warnings, [why])
  }
})

t.test('two adapters can have schemas with the same $id', async t => {
  const configSchema = { $id: 'config', type: 'object', properties: {} }
  const { types, warnings } = await load(definition({ configSchema }), definition({ configSchema, type: 'another' }))
  t.same([types, warnings], [['mine', 'another'], []])
})
