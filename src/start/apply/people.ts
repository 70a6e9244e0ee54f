import { isDeepStrictEqual } from 'node:util'
import { isApiKey } from '../../auth/api-key.ts'
import { type Scope, scopes } from '../../auth/scopes.ts'
import type { ApiKey } from '../../db/api-keys.ts'
import { emailKey } from '../../db/users.ts'
import { StartError } from '../../errors.ts'
import { parsePublicKey } from '../../services/people/ssh-public-keys.ts'
import {
  type ApplyContext,
  accessOf,
  change,
  create,
  drift,
  hasAccess,
  idOfMember,
  isNewAccount,
  memberNamed,
  onlyNamed,
  rightsDiffer,
  type Step,
} from './context.ts'
import { type DeclaredKey, type DeclaredMember, readSecretOf } from './declaration.ts'

/** Anybody can register with any address while the registration is open, so the address alone does not say who has the account. */
export const unconfirmed =
  'registered without an invite, perhaps not the person with this address: check who has the account, and give it a role in the console or with "updateMember", or remove it and create an invite'

/** Compares roles and access. People register themselves, so a person without an account is only reported. */
export function planMembers(context: ApplyContext): Step[] {
  const { services, viewer, declaration, members } = context
  if (!declaration.members) return []
  const people = members.filter(({ member }) => !member.isService)
  const steps = declaration.members.flatMap((declared: DeclaredMember) => {
    const { email, role, access } = declared
    const subject = `member ${email}`
    const listed = people.find(({ member }) => emailKey(member.email) === emailKey(email))
    if (!listed) return drift(subject, 'has no account: create an invite, and apply again after they have registered')
    const { member, isConfirmed } = listed
    const differing = rightsDiffer(member.own, context, declared)
    if (differing.length === 0) return []
    if (member.userId === viewer.member.userId)
      return drift(subject, `${differing.join(', ')}: apply acts as this owner`)
    if (!isConfirmed) return drift(subject, unconfirmed)
    return change(subject, differing.join(', '), () =>
      services.members.update(viewer, {
        userId: member.userId,
        role,
        providerAccess: accessOf(context, access),
      }),
    )
  })
  const known = new Set(declaration.members.map(({ email }) => emailKey(email)))
  const others = people.filter(
    ({ member: { email, userId } }) => !known.has(emailKey(email)) && userId !== viewer.member.userId,
  )
  return [...steps, ...others.map(({ member }) => drift(`member ${member.email}`, 'is not declared'))]
}

/** Compares the active keys of each declared owner by their names. Keys that are not declared stay. */
export async function planKeys(context: ApplyContext): Promise<Step[]> {
  const steps: Step[] = []
  for (const declared of context.declaration.keys ?? []) steps.push(...(await planKey(context, declared)))
  return steps
}

async function planKey(context: ApplyContext, declared: DeclaredKey): Promise<Step[]> {
  const { services, viewerOf } = context
  const { name, owner, file } = declared
  const subject = `key "${name}" of ${owner}`
  const listed = memberNamed(context, owner)
  if (!listed && !isNewAccount(context, owner)) return [drift(subject, 'its owner has no account')]
  if (listed && !listed.isConfirmed) return [drift(subject, `its owner ${unconfirmed}`)]
  const value = await readSecretOf(file)
  if (!isApiKey(value)) {
    throw new StartError(`${file} contains no API key: create one with "echo stw_$(openssl rand -hex 20)".`)
  }
  const active = listed ? await activeKeys(context, listed.member.userId) : []
  const key = onlyNamed(`keys of ${owner}`, active, name)
  if (key) {
    const isSame = await services.apiKeys.hasValue(key, value)
    const publicKey = declared.publicKey === undefined ? null : await parsePublicKey(declared.publicKey)
    const hasPublicKey = isDeepStrictEqual(key.publicKey, publicKey)
    return differencesOf(key, { isSame, hasPublicKey }, declared, context).map(what =>
      drift(subject, `${what}: revoke it first`),
    )
  }
  return [
    create(subject, `with the scopes ${declared.scopes.join(', ')}`, async () => {
      const viewer = await viewerOf(idOfMember(context, owner))
      const { publicKey } = declared
      const input = { name, scopes: declared.scopes, providerAccess: accessOf(context, declared.access), publicKey }
      return services.apiKeys.create(viewer, input, value)
    }),
  ]
}

async function activeKeys({ services, viewerOf }: ApplyContext, userId: string): Promise<ApiKey[]> {
  const page = await services.apiKeys.list(
    await viewerOf(userId),
    { includeInactive: false, connections: false },
    { first: 100 },
  )
  return page.items.map(each => each.key)
}

/** A key cannot be changed. */
function differencesOf(
  key: ApiKey,
  { isSame, hasPublicKey }: { isSame: boolean; hasPublicKey: boolean },
  declared: DeclaredKey,
  context: ApplyContext,
): string[] {
  const given = (names: readonly Scope[]) => scopes.filter(scope => names.includes(scope))
  return [
    ...(isSame ? [] : ['has another value']),
    ...(hasPublicKey ? [] : ['has another public key']),
    ...(key.expiresAt === null ? [] : [`expires at ${key.expiresAt.toISOString()}`]),
    ...(isDeepStrictEqual(given(key.scopes), given(declared.scopes)) ? [] : ['has other scopes']),
    ...(hasAccess(key, context, declared.access) ? [] : ['has other access']),
  ]
}
