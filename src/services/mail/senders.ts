/** Starts everything that sends email. */
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { noteLostEmail } from '../../db/outbox.ts'
import type { ResetRequest } from '../../db/reset-requests.ts'
import type { MailedLink } from '../people/password-resets.ts'
import { type MailFailure, startMailSender } from './index.ts'
import { startMentionSender } from './mentions.ts'
import { startNoticeSender } from './notices.ts'
import type { OutboxFailure } from './outbox.ts'
import { startResetSender } from './reset-links.ts'
import { createMailTransport, type MailSettings } from './transport.ts'

/** Returns a function that ends the search for messages. */
export function startMail(
  { publicUrl, smtpUrl, from }: MailSettings & { publicUrl: string },
  context: {
    db: Database
    secrets: Secrets
    linkFor: (request: ResetRequest) => Promise<MailedLink | null>
    onError: (error: unknown) => void
    onMailFailure: (failure: MailFailure) => void
  },
): () => Promise<unknown> {
  const { db, secrets, linkFor, onError } = context
  const onMailFailure = (failure: MailFailure) => {
    context.onMailFailure(failure)
    if (failure.retrySeconds === null) noteLostEmail(db).catch(onError)
  }
  const common = { db, send: createMailTransport({ smtpUrl, from }), publicUrl, onError }
  const failed = (about: MailFailure['about']) => (failure: OutboxFailure) =>
    onMailFailure({ about, shareId: null, ...failure })
  const stops = [
    startMailSender({ ...common, secrets, onMailFailure }),
    startNoticeSender({ ...common, onFailure: failed('an account') }),
    startMentionSender({ ...common, onFailure: failed('a comment') }),
    startResetSender({ ...common, linkFor, onFailure: failed('a new password') }),
  ]
  return () => Promise.all(stops.map(stop => stop()))
}
