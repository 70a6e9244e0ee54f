import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { Credentials } from '../people/credentials.ts'

/**
 * Jobs and schedules act as the person who created them. They end with the API key that created them; the end of a session
 * does not end them.
 * @throws as `Credentials.recall`
 */
export function creatorOf(
  credentials: Pick<Credentials, 'recall' | 'recallMember'>,
  created: Pick<JobRecord, 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId'>,
  origin: Origin,
): Promise<Viewer> {
  const { credentialKind: kind, credentialId } = created
  return kind === 'API_KEY'
    ? credentials.recall({ kind, credentialId, origin })
    : credentials.recallMember({ ...created, sessionId: credentialId, origin })
}
