import type { MemberGroup } from '../../auth/viewer.ts'
import { groupKey } from '../../db/groups.ts'
import { maxGroupsPage } from '../../services/people/groups.ts'
import {
  type ApplyContext,
  accessOf,
  change,
  create,
  drift,
  idOfMember,
  isNewAccount,
  memberNamed,
  rightsDiffer,
  type Step,
} from './context.ts'
import type { DeclaredGroup } from './declaration.ts'
import { unconfirmed } from './people.ts'

/** Compares the service accounts by their names. Those that are not declared stay. */
export function planServiceAccounts(context: ApplyContext): Step[] {
  const { services, viewer, declaration, members, accountIds } = context
  const declared = declaration.serviceAccounts
  if (!declared) return []
  const accounts = members.filter(({ member }) => member.isService)
  const steps = declared.flatMap(account => {
    const { name, role, access } = account
    const subject = `service account "${name}"`
    const found = accounts.find(({ member }) => member.name === name)
    if (!found) {
      return create(subject, `with the role ${role}`, async () => {
        const input = { name, role, providerAccess: accessOf(context, access) }
        accountIds.set(name, (await services.serviceAccounts.create(viewer, input)).userId)
      })
    }
    const { userId, own } = found.member
    const differing = rightsDiffer(own, context, account)
    if (differing.length === 0) return []
    return change(subject, differing.join(', '), () =>
      services.members.update(viewer, { userId, role, providerAccess: accessOf(context, access) }),
    )
  })
  const known = new Set(declared.map(({ name }) => name))
  const others = accounts.filter(({ member }) => !known.has(member.name ?? ''))
  return [...steps, ...others.map(({ member }) => drift(`service account "${member.name}"`, 'is not declared'))]
}

/** Compares the groups by their names, and their members if they are declared. Groups that are not declared stay. */
export async function planGroups(context: ApplyContext): Promise<Step[]> {
  const declared = context.declaration.groups
  if (!declared) return []
  const found = await allGroups(context)
  const groupOf = (name: string) => found.find(group => groupKey(group.name) === groupKey(name))
  const known = new Set(declared.map(({ name }) => groupKey(name)))
  return [
    ...declared.flatMap(group => planGroup(context, group, groupOf(group.name))),
    ...found
      .filter(({ name }) => !known.has(groupKey(name)))
      .map(({ name }) => drift(`group "${name}"`, 'is not declared')),
  ]
}

export async function allGroups({ services, viewer }: ApplyContext): Promise<MemberGroup[]> {
  const groups: MemberGroup[] = []
  for (let after: string | null | undefined = null; after !== undefined; ) {
    const page = await services.groups.list(viewer, { first: maxGroupsPage, after })
    groups.push(...page.items.map(({ group }) => group))
    after = page.hasNext ? page.items.at(-1)?.cursor : undefined
  }
  return groups
}

function planGroup(context: ApplyContext, declared: DeclaredGroup, group: MemberGroup | undefined): Step[] {
  const { services, viewer, members } = context
  const { name, role, access } = declared
  const subject = `group "${name}"`
  const wanted = [...new Set(declared.members ?? [])]
  const drifts = wanted.flatMap(who => {
    const listed = memberNamed(context, who)
    if (listed?.isConfirmed || isNewAccount(context, who)) return []
    return drift(subject, `its member ${who} ${listed ? unconfirmed : 'has no account'}`)
  })
  const usable = wanted.filter(who => isNewAccount(context, who) || memberNamed(context, who)?.isConfirmed)
  if (!group) {
    const step = create(subject, `with the role ${role}`, async () => {
      const { id } = await services.groups.create(viewer, { name, role, providerAccess: accessOf(context, access) })
      for (const who of usable) await services.groups.addMember(viewer, id, idOfMember(context, who))
    })
    return [step, ...drifts]
  }
  const { id } = group
  const isMember = (userId: string | undefined) =>
    members.some(({ member }) => member.userId === userId && member.groups.some(each => each.id === id))
  const joining = usable.filter(who => !isMember(memberNamed(context, who)?.member.userId))
  const staying = new Set(wanted.map(who => memberNamed(context, who)?.member.userId))
  const leaving = declared.members
    ? members.filter(({ member: { userId } }) => isMember(userId) && !staying.has(userId))
    : []
  const differing = rightsDiffer(group, context, declared)
  return [
    ...(differing.length === 0
      ? []
      : [
          change(subject, differing.join(', '), () =>
            services.groups.update(viewer, { id, role, providerAccess: accessOf(context, access) }),
          ),
        ]),
    ...joining.map(who =>
      change(subject, `adds ${who}`, () => services.groups.addMember(viewer, id, idOfMember(context, who))),
    ),
    ...leaving.map(({ member: { userId, name, email, isService } }) =>
      change(subject, `removes ${isService ? name : email}`, () => services.groups.removeMember(viewer, id, userId)),
    ),
    ...drifts,
  ]
}
