import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { AdminOnly } from '../../ui/admin-only.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { DeliveriesDialog } from './deliveries-dialog.tsx'
import { DeleteWebhookMutation, RotateSecretMutation, type Webhook, WebhooksQuery } from './operations.ts'
import { SecretDialog } from './secret-dialog.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'
import { type WebhookAction, WebhookTable } from './webhook-table.tsx'

type OpenDialog =
  | { kind: 'new' }
  | { kind: 'secret'; secret: string }
  | { kind: 'edit' | 'deliveries' | 'rotate' | 'delete'; webhook: Webhook }

export function WebhooksPage() {
  return (
    <AdminOnly title="Webhooks">
      <Webhooks />
    </AdminOnly>
  )
}

function Webhooks() {
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.webhooks,
    queryFn: ({ signal }) => ask(WebhooksQuery, {}, { signal }),
  })
  const [open, setOpen] = useState<OpenDialog | null>(null)
  const close = () => setOpen(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.webhooks })
  const onAction = (action: WebhookAction, webhook: Webhook) => setOpen({ kind: action, webhook })
  const saved = (secret: string | null) => {
    void reload()
    setOpen(secret === null ? null : { kind: 'secret', secret })
  }
  return (
    <>
      <div className="page-head">
        <h1>Webhooks</h1>
        <Button variant="primary" onPress={() => setOpen({ kind: 'new' })} isDisabled={!data}>
          New webhook
        </Button>
      </div>
      <p className="help">
        A webhook tells another server what happens here, with a signed message for each event. Messages that fail are
        sent again for about three days.
      </p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the webhooks" />}
      {data?.webhooks.length === 0 && <p className="empty">No webhooks yet.</p>}
      {data && data.webhooks.length > 0 && (
        <WebhookTable
          webhooks={data.webhooks}
          storages={new Map(data.providers.map(({ id, name }) => [id, name]))}
          onAction={onAction}
        />
      )}
      {data && (open?.kind === 'new' || open?.kind === 'edit') && (
        <WebhookDialog
          webhook={open.kind === 'edit' ? open.webhook : null}
          providers={data.providers}
          onSaved={saved}
          onClose={close}
        />
      )}
      {open?.kind === 'secret' && <SecretDialog secret={open.secret} onClose={close} />}
      {open?.kind === 'deliveries' && <DeliveriesDialog webhook={open.webhook} onClose={close} />}
      {open?.kind === 'rotate' && (
        <Confirm
          title={`Create a new secret for “${open.webhook.name}”?`}
          action="Create secret"
          onConfirm={async () =>
            saved((await ask(RotateSecretMutation, { id: open.webhook.id })).rotateWebhookSecret.secret)
          }
          onClose={() => setOpen(now => (now?.kind === 'secret' ? now : null))}
        >
          <p>For another day, messages are signed with both secrets, so the receiver can change in between.</p>
        </Confirm>
      )}
      {open?.kind === 'delete' && (
        <Confirm
          title={`Delete “${open.webhook.name}”?`}
          action="Delete"
          onConfirm={async () => {
            await ask(DeleteWebhookMutation, { id: open.webhook.id })
            await reload()
          }}
          onClose={close}
        >
          <p>Messages that wait to be sent are deleted, too. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  )
}
