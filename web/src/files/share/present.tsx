import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/shares.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { type Recipient, RecipientName } from '../../ui/recipient-field.tsx'
import { Time } from '../../ui/time.tsx'
import { type PresentShare, removeRecipient } from './operations.ts'

/** Lists with whom the entry is shared already. People and groups are removed at once, and links after a question. */
export function PresentShares({
  shares,
  onRevoke,
}: {
  shares: readonly PresentShare[]
  onRevoke: (share: PresentShare) => void
}) {
  const client = useQueryClient()
  const heading = useRef<HTMLHeadingElement>(null)
  const remove = useMutation({
    mutationFn: async ({ share, recipient }: { share: PresentShare; recipient: Recipient }) => {
      await removeRecipient(share, recipient)
      await client.invalidateQueries({ queryKey: queryKeys.shares })
    },
    // The button that had the focus is gone.
    onSuccess: () => heading.current?.focus(),
  })
  if (shares.length === 0) return null
  return (
    <section className="present-shares" aria-labelledby="present-shares">
      <h3 id="present-shares" ref={heading} tabIndex={-1}>
        {texts.sharedAlready}
      </h3>
      <ul>
        {shares.map(share =>
          share.recipients ? (
            share.recipients.map(recipient => (
              <li key={`${share.id} ${recipient.id}`}>
                <RecipientName recipient={recipient} />
                <Facts share={share} />
                <Button
                  onPress={() => remove.mutate({ share, recipient })}
                  isDisabled={remove.isPending}
                  aria-label={texts.removeAccess(recipient.name)}
                >
                  {common.remove}
                </Button>
              </li>
            ))
          ) : (
            <LinkRow key={share.id} share={share} onRevoke={() => onRevoke(share)} />
          ),
        )}
      </ul>
      {remove.error && <ErrorBox error={remove.error} />}
    </section>
  )
}

function LinkRow({ share, onRevoke }: { share: PresentShare; onRevoke: () => void }) {
  return (
    <li>
      <span className="avatar group">
        <Icon name="link" />
      </span>
      <span className="recipient-name">
        <span>{texts.anyone}</span>
        <span className="help">{texts.kindTitles[share.kind]}</span>
      </span>
      <Facts share={share} />
      {share.url !== null && <CopyButton text={share.url} label={texts.copyLink} />}
      <Button onPress={onRevoke} aria-label={common.actionOn(common.revoke, texts.anyone)}>
        {common.revoke}
      </Button>
    </li>
  )
}

function Facts({ share: { expiresAt, hasPassword, paths } }: { share: PresentShare }) {
  const facts: ReactNode[] = []
  if (expiresAt !== null) facts.push(texts.until(<Time at={expiresAt} />))
  if (hasPassword) facts.push(texts.withPassword)
  if (paths.length > 1) facts.push(texts.ofSeveral(paths.length))
  return (
    <span className="present-facts help">
      {facts.map((fact, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the facts have a fixed order
        <span key={index}>{fact}</span>
      ))}
    </span>
  )
}
