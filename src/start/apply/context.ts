import { isDeepStrictEqual } from 'node:util'
import { storeAccess } from '../../auth/access.ts'
import type { Role } from '../../auth/scopes.ts'
import type { Given, Viewer } from '../../auth/viewer.ts'
import type { ListedMember } from '../../db/members.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { emailKey } from '../../db/users.ts'
import { StartError } from '../../errors.ts'
import type { Services } from '../../services/index.ts'
import { type AccessInput, parseAccess } from '../../services/people/access.ts'
import type { Declaration } from './declaration.ts'

/** Everything that the steps need. They act as the owner of the workspace, or as the owner of a key. */
export interface ApplyContext {
  services: Services
  viewer: Viewer
  declaration: Declaration
  /** The providers before the first step. */
  providers: readonly ProviderRecord[]
  /** The ids of declared providers that are not connected yet, by their names. */
  providerIds: Map<string, string>
  members: readonly ListedMember[]
  /** The ids of declared service accounts that did not exist before the first step, by their names. */
  accountIds: Map<string, string>
  /** Returns a viewer that acts as a member. */
  viewerOf(userId: string): Promise<Viewer>
}

/** Returns the person with an email, or the service account with a name. */
export function memberNamed({ members }: ApplyContext, who: string): ListedMember | undefined {
  return (
    members.find(({ member }) => !member.isService && emailKey(member.email) === emailKey(who)) ??
    members.find(({ member }) => member.isService && member.name === who)
  )
}

/** Returns whether the steps create a service account with this name. */
export function isNewAccount({ declaration, members }: ApplyContext, name: string): boolean {
  const isDeclared = declaration.serviceAccounts?.some(account => account.name === name) ?? false
  return isDeclared && !members.some(({ member }) => member.isService && member.name === name)
}

/** Returns the id of a member, also of a service account that an earlier step has created. */
export function idOfMember(context: ApplyContext, who: string): string {
  const id = memberNamed(context, who)?.member.userId ?? context.accountIds.get(who)
  if (id === undefined) throw new StartError(`There is no member "${who}".`)
  return id
}

/** Returns whether something has the declared access. */
export function hasAccess({ access }: Pick<Given, 'access'>, context: ApplyContext, name: string | undefined): boolean {
  const sorted = (stored: ReturnType<typeof storeAccess>) =>
    stored.all ? null : stored.restrictions.toSorted((a, b) => (a.providerId < b.providerId ? -1 : 1))
  return isDeepStrictEqual(sorted(storeAccess(access)), sorted(storeAccess(parseAccess(accessOf(context, name)))))
}

/** Returns the differences between a role and access and the declared ones. */
export function rightsDiffer(
  has: Given,
  context: ApplyContext,
  declared: { role: Role; access?: string | undefined },
): string[] {
  return [
    ...(has.role === declared.role ? [] : [`role ${has.role} -> ${declared.role}`]),
    ...(hasAccess(has, context, declared.access) ? [] : ['access']),
  ]
}

/** Translates a name in `access` into the access of the API. @throws StartError */
export function accessOf(context: ApplyContext, name: string | undefined): AccessInput {
  if (name === undefined) return { all: true }
  const folders = context.declaration.access?.[name]
  if (!folders) throw new StartError(`"${name}" is not declared in "access".`)
  const restrictions = Object.entries(folders).flatMap(([provider, paths]) => {
    const providerId = idOfProvider(context, provider)
    return [paths].flat().map(basePath => ({ providerId, basePath }))
  })
  return { restrictions }
}

/** Returns the object with a declared name, or undefined. @throws StartError if two have the name, because they cannot be told apart */
export function onlyNamed<T extends { name: string }>(what: string, all: readonly T[], name: string): T | undefined {
  const [found, another] = all.filter(each => each.name === name)
  if (another) throw new StartError(`Two ${what} have the name "${name}": rename one of them.`)
  return found
}

/** @throws StartError */
export function idOfProvider({ providers, providerIds }: ApplyContext, name: string): string {
  const id = onlyNamed('storages', providers, name)?.id ?? providerIds.get(name)
  if (id === undefined) throw new StartError(`There is no storage "${name}": declare it in "providers".`)
  return id
}

/** One difference between the declaration and the workspace. */
export interface Step {
  /** CREATE and CHANGE have `run`. DRIFT cannot be changed by `apply`, or is not declared. */
  kind: 'CREATE' | 'CHANGE' | 'DRIFT'
  /** The subject of the step, without secrets: `storage "Team disk"`. */
  subject: string
  /** The differences: names of properties, and values that are no secrets. */
  details: string
  run?: () => Promise<unknown>
}

export function create(subject: string, details: string, run: () => Promise<unknown>): Step {
  return { kind: 'CREATE', subject, details, run }
}

export function change(subject: string, details: string, run: () => Promise<unknown>): Step {
  return { kind: 'CHANGE', subject, details, run }
}

export function drift(subject: string, details: string): Step {
  return { kind: 'DRIFT', subject, details }
}
