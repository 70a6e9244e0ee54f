import { deriveSecrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { countSealedOtherwise } from '../../db/sealed.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** Checks that the secret is the one that the stored credentials were encrypted with. */
export async function checkSecret(
  db: Database,
  { secret, previous }: { secret: string; previous: string | null },
): Promise<Finding> {
  const keyIds = [secret, ...(previous === null ? [] : [previous])].map(each => deriveSecrets(each).currentKeyId)
  const [others, unreadable] = await Promise.all([
    countSealedOtherwise(db, keyIds.slice(0, 1)),
    countSealedOtherwise(db, keyIds),
  ])
  if (unreadable > 0) {
    const text = `${unreadable} stored credentials were encrypted with another secret: set that one, or enter them again.`
    return problem('Secret', text)
  }
  if (others > 0) return warning('Secret', `${others} values are still encrypted with the previous secret: keep it.`)
  return ok('Secret', 'It decrypts all stored credentials.')
}
