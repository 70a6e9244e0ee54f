/** Webhooks: the page that lists them, the dialogs that create and change one, and the list of its messages. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { perRoot } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { DeliveriesDialog } from './deliveries-dialog.tsx'
import { DeleteWebhookMutation, RotateSecretMutation, type Webhook, WebhooksQuery } from './operations.ts'
import { eventTitles, SecretDialog, WebhookDialog } from './webhook-dialog.tsx'

type OpenDialog =
  | { kind: 'new' }
  | { kind: 'secret'; secret: string }
  | { kind: 'edit' | 'deliveries' | 'rotate' | 'delete'; webhook: Webhook }

export function WebhooksPage() {
  return (
    <AdminOnly title={texts.webhooks}>
      <Webhooks />
    </AdminOnly>
  )
}

function Webhooks() {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.webhooks,
    queryFn: ({ signal }) => ask(WebhooksQuery, {}, { signal }),
  })
  const { data } = query
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
      <PageHead title={texts.webhooks}>
        <Button variant="primary" onPress={() => setOpen({ kind: 'new' })} isDisabled={!data}>
          {texts.newWebhook}
        </Button>
      </PageHead>
      <p className="help">{texts.webhooksHelp}</p>
      <LoadState query={query} label={texts.loadingWebhooks} />
      {data?.webhooks.length === 0 && <p className="empty">{texts.noWebhooks}</p>}
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
          providers={perRoot(data.providers)}
          onSaved={saved}
          onClose={close}
        />
      )}
      {open?.kind === 'secret' && <SecretDialog secret={open.secret} onClose={close} />}
      {open?.kind === 'deliveries' && <DeliveriesDialog webhook={open.webhook} onClose={close} />}
      {open?.kind === 'rotate' && (
        <Confirm
          title={texts.newSecretTitle(open.webhook.name)}
          action={texts.createSecret}
          onConfirm={async () =>
            saved((await ask(RotateSecretMutation, { id: open.webhook.id })).rotateWebhookSecret.secret)
          }
          onClose={() => setOpen(now => (now?.kind === 'secret' ? now : null))}
        >
          <p>{texts.newSecretHelp}</p>
        </Confirm>
      )}
      {open?.kind === 'delete' && (
        <Confirm
          title={common.deleteTitle(open.webhook.name)}
          action={common.delete}
          onConfirm={async () => {
            await ask(DeleteWebhookMutation, { id: open.webhook.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.deleteWebhookHelp}</p>
        </Confirm>
      )}
    </>
  )
}

type WebhookAction = 'deliveries' | 'edit' | 'rotate' | 'delete'

function WebhookTable({
  webhooks,
  storages,
  onAction,
}: {
  webhooks: readonly Webhook[]
  /** The names of the storages by their ids. */
  storages: ReadonlyMap<string, string>
  onAction: (action: WebhookAction, webhook: Webhook) => void
}) {
  return (
    <RowTable label={texts.webhooks} columns={[common.name, texts.events, common.status]}>
      {webhooks.map(webhook => (
        <Row key={webhook.id} webhook={webhook} storages={storages} onAction={onAction} />
      ))}
    </RowTable>
  )
}

function Row({
  webhook,
  storages,
  onAction,
}: {
  webhook: Webhook
  storages: ReadonlyMap<string, string>
  onAction: (action: WebhookAction, webhook: Webhook) => void
}) {
  const { id, name, url, events, location, enabled, error } = webhook
  const nameId = `webhook-${id}`
  const actions: [WebhookAction, string][] = [
    ['deliveries', texts.deliveries],
    ['edit', common.edit],
    ['rotate', texts.newSecret],
  ]
  return (
    <tr className={enabled ? '' : 'inactive'}>
      <td>
        <div className="main-cell" id={nameId} dir="auto">
          {name}
        </div>
        <div className="help">{url}</div>
      </td>
      <td data-label={texts.events}>
        {formatList(events.map(event => eventTitles[event]))}
        {location && (
          <div className="help">{texts.inFolder(storages.get(location.providerId) ?? null, location.path)}</div>
        )}
      </td>
      <td data-label={common.status}>
        <span className={`badge ${enabled ? 'good' : 'warn'}`}>{enabled ? texts.enabled : texts.disabled}</span>
        {error && <div className="help">{error}</div>}
      </td>
      <td className="actions-cell">
        <div className="actions">
          {actions.map(([action, title]) => (
            <Button key={action} onPress={() => onAction(action, webhook)} aria-describedby={nameId}>
              {title}
            </Button>
          ))}
          <Button variant="danger" onPress={() => onAction('delete', webhook)} aria-describedby={nameId}>
            {common.delete}
          </Button>
        </div>
      </td>
    </tr>
  )
}
