import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { eventTitles } from './event-choices.tsx'
import type { Webhook } from './operations.ts'

export type WebhookAction = 'deliveries' | 'edit' | 'rotate' | 'delete'

export function WebhookTable({
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
        <div className="main-cell" id={nameId}>
          {name}
        </div>
        <div className="help">{url}</div>
      </td>
      <td data-label={texts.events}>
        {events.map(event => eventTitles[event]).join(', ')}
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
