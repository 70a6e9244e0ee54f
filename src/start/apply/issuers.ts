import { isDeepStrictEqual } from 'node:util'
import type { MemberGroup } from '../../auth/viewer.ts'
import { groupKey } from '../../db/groups.ts'
import { StartError } from '../../errors.ts'
import { parseDomain } from '../../services/people/issued-accounts.ts'
import { type ApplyContext, change, create, drift, type Step } from './context.ts'
import { type DeclaredIssuer, readSecretOf } from './declaration.ts'
import { allGroups } from './groups.ts'

/** Compares the issuers of single sign-on by their names. Those that are not declared stay. */
export async function planIssuers(context: ApplyContext): Promise<Step[]> {
  const { services, viewer, declaration } = context
  const declared = declaration.issuers
  if (!declared) return []
  const found = (await services.issuers.list(viewer)).filter(({ isFromSettings }) => !isFromSettings)
  const groups = await allGroups(context)
  const steps: Step[] = []
  for (const issuer of declared) {
    const secret = await readSecretOf(issuer.secretFile)
    const subject = `issuer "${issuer.name}"`
    const present = found.find(({ name }) => name === issuer.name)
    if (!present) {
      steps.push(
        create(subject, `at ${issuer.issuer}`, async () => {
          const input = await valuesOf(context, issuer)
          await services.issuers.create(viewer, { ...input, issuer: issuer.issuer, clientSecret: secret })
        }),
      )
      continue
    }
    if (present.issuer !== issuer.issuer) {
      steps.push(drift(subject, 'has another address: delete it first'))
      continue
    }
    const { id } = present
    const names = (ids: readonly string[]) =>
      groups.filter(group => ids.includes(group.id)).map(({ name }) => groupKey(name))
    const isNew = !(await services.issuers.hasSecret(viewer, id, secret))
    const differing = [
      ...(present.clientId === issuer.clientId ? [] : ['clientId']),
      ...(isNew ? ['secret'] : []),
      ...(present.groupsClaim === (issuer.groupsClaim ?? null) ? [] : ['groupsClaim']),
      ...(isSame(present.domains, (issuer.domains ?? []).map(parseDomain)) ? [] : ['domains']),
      ...(isSame(names(present.groupIds), (issuer.groups ?? []).map(groupKey)) ? [] : ['groups']),
      ...(present.prompt === (issuer.prompt ?? 'DEFAULT') ? [] : ['prompt']),
      ...(present.maxAgeMinutes === (issuer.maxAgeMinutes ?? 0) ? [] : ['maxAgeMinutes']),
      ...(present.isEnabled ? [] : ['enabled']),
    ]
    if (differing.length === 0) continue
    steps.push(
      change(subject, differing.join(', '), async () => {
        const input = await valuesOf(context, issuer)
        await services.issuers.update(viewer, { id, ...input, ...(isNew && { clientSecret: secret }) })
      }),
    )
  }
  const known = new Set(declared.map(({ name }) => name))
  const others = found.filter(({ name }) => !known.has(name))
  return [...steps, ...others.map(({ name }) => drift(`issuer "${name}"`, 'is not declared'))]
}

/** Returns the values of an issuer that can change. Earlier steps can have created its groups. @throws StartError */
async function valuesOf(context: ApplyContext, declared: DeclaredIssuer) {
  const { name, clientId, groupsClaim = '', domains = [], groups: names = [] } = declared
  const { prompt = 'DEFAULT', maxAgeMinutes = 0 } = declared
  const groups: MemberGroup[] = names.length > 0 ? await allGroups(context) : []
  const groupIds = names.map(each => {
    const group = groups.find(group => groupKey(group.name) === groupKey(each))
    if (!group) throw new StartError(`There is no group "${each}": declare it in "groups".`)
    return group.id
  })
  return { name, clientId, groupsClaim, domains, groupIds, prompt, maxAgeMinutes, enabled: true }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return isDeepStrictEqual([...new Set(some)].toSorted(), [...new Set(others)].toSorted())
}
