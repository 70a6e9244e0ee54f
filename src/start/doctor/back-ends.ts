import type { Services } from '../../services/index.ts'
import { type Finding, messageOf, ok, problem, warning } from './finding.ts'

/** Tests the back end of every provider. */
export async function checkBackEnds({ providers }: Pick<Services, 'providers'>): Promise<Finding[]> {
  const tested = await providers.testAll()
  return tested.map(({ record: { name, type, status }, error }) => {
    const subject = `Storage "${name}"`
    if (error === null) return ok(subject, `Its back end (${type}) responds.`)
    if (status === 'NEEDS_AUTHORIZATION') return warning(subject, 'Somebody has to give consent in the console.')
    return problem(subject, messageOf(error))
  })
}
