import { isDeepStrictEqual } from 'node:util'
import { storeAccess } from '../../auth/access.ts'
import { isApiKey } from '../../auth/api-key.ts'
import { type Scope, scopes } from '../../auth/scopes.ts'
import type { Member } from '../../auth/viewer.ts'
import type { ApiKey } from '../../db/api-keys.ts'
import type { ListedMember } from '../../db/members.ts'
import { emailKey } from '../../db/users.ts'
import { StartError } from '../../errors.ts'
import { parseAccess } from '../../services/people/access.ts'
import { type ApplyContext, accessOf, change, create, drift, onlyNamed, type Step } from './context.ts'
import { type DeclaredKey, type DeclaredMember, readSecretOf } from './declaration.ts'

/** Anybody can register with any address while the registration is open, so the address alone does not say who has the account. */
const unconfirmed =
  'registered without an invite, perhaps not the person with this address: check who has the account, and give it a role in the console or with "updateMember", or remove it and create an invite'

/** Compares roles and access. People register themselves, so a person without an account is only reported. */
export function planMembers(context: ApplyContext): Step[] {
  const { services, viewer, declaration, members } = context
  if (!declaration.members) return []
  const steps = declaration.members.flatMap((declared: DeclaredMember) => {
    const { email, role, access } = declared
    const subject = `member ${email}`
    const listed = memberOf(members, email)
    if (!listed) return drift(subject, 'has no account: create an invite, and apply again after they have registered')
    const { member, isConfirmed } = listed
    const differing = [
      ...(member.role === role ? [] : [`role ${member.role} -> ${role}`]),
      ...(hasAccess(member, context, access) ? [] : ['access']),
    ]
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
  const others = members.filter(
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
  const { services, members, viewerOf } = context
  const { name, owner, file } = declared
  const subject = `key "${name}" of ${owner}`
  const listed = memberOf(members, owner)
  if (!listed) return [drift(subject, 'its owner has no account')]
  if (!listed.isConfirmed) return [drift(subject, `its owner ${unconfirmed}`)]
  const value = await readSecretOf(file)
  if (!isApiKey(value)) {
    throw new StartError(`${file} contains no API key: create one with "echo stw_$(openssl rand -hex 20)".`)
  }
  const viewer = await viewerOf(listed)
  const page = await services.apiKeys.list(viewer, { includeInactive: false }, { first: 100 })
  const active = page.items.map(each => each.key)
  const key = onlyNamed(`keys of ${owner}`, active, name)
  if (key) {
    const isSame = await services.apiKeys.hasValue(key, value)
    return differencesOf(key, isSame, declared, context).map(what => drift(subject, `${what}: revoke it first`))
  }
  return [
    create(subject, `with the scopes ${declared.scopes.join(', ')}`, () =>
      services.apiKeys.create(
        viewer,
        { name, scopes: declared.scopes, providerAccess: accessOf(context, declared.access) },
        value,
      ),
    ),
  ]
}

/** A key cannot be changed. */
function differencesOf(key: ApiKey, hasValue: boolean, declared: DeclaredKey, context: ApplyContext): string[] {
  const given = (names: readonly Scope[]) => scopes.filter(scope => names.includes(scope))
  return [
    ...(hasValue ? [] : ['has another value']),
    ...(key.expiresAt === null ? [] : [`expires at ${key.expiresAt.toISOString()}`]),
    ...(isDeepStrictEqual(given(key.scopes), given(declared.scopes)) ? [] : ['has other scopes']),
    ...(hasAccess(key, context, declared.access) ? [] : ['has other access']),
  ]
}

function hasAccess({ access }: Pick<Member, 'access'>, context: ApplyContext, name: string | undefined): boolean {
  const sorted = (stored: ReturnType<typeof storeAccess>) =>
    stored.all ? null : stored.restrictions.toSorted((a, b) => (a.providerId < b.providerId ? -1 : 1))
  return isDeepStrictEqual(sorted(storeAccess(access)), sorted(storeAccess(parseAccess(accessOf(context, name)))))
}

function memberOf(members: readonly ListedMember[], email: string): ListedMember | undefined {
  return members.find(({ member }) => emailKey(member.email) === emailKey(email))
}
