import { isDeepStrictEqual } from 'node:util'
import type { WebhookRecord } from '../../db/webhooks.ts'
import { eventsOf } from '../../services/webhooks/messages.ts'
import { type ApplyContext, change, create, drift, idOfProvider, onlyNamed, type Step } from './context.ts'
import { type DeclaredWebhook, readSecretOf } from './declaration.ts'

/** Compares the webhooks by their names. Those that are not declared stay. */
export async function planWebhooks(context: ApplyContext): Promise<Step[]> {
  const { services, viewer, declaration } = context
  const declared = declaration.webhooks
  if (!declared) return []
  const found = await services.webhooks.list(viewer)
  const steps: Step[] = []
  for (const webhook of declared) {
    const secret = await readSecretOf(webhook.secretFile)
    const record = onlyNamed('webhooks', found, webhook.name)
    const subject = `webhook "${webhook.name}"`
    if (record) steps.push(...planChanges(context, webhook, record, secret))
    else {
      steps.push(
        create(subject, `to ${URL.parse(webhook.url)?.host ?? 'an invalid address'}`, () => {
          const { name, url, events } = webhook
          return services.webhooks.create(viewer, { name, url, events, location: locationOf(context, webhook) }, secret)
        }),
      )
    }
  }
  const known = new Set(declared.map(({ name }) => name))
  return [
    ...steps,
    ...found.filter(({ name }) => !known.has(name)).map(({ name }) => drift(`webhook "${name}"`, 'is not declared')),
  ]
}

function planChanges(context: ApplyContext, declared: DeclaredWebhook, record: WebhookRecord, secret: string): Step[] {
  const { services, viewer } = context
  const subject = `webhook "${declared.name}"`
  if (!isDeepStrictEqual(locationOf(context, declared), record.location)) {
    return [drift(subject, 'has another location: delete it first')]
  }
  const differing = [
    ...(record.url === URL.parse(declared.url)?.href ? [] : ['url']),
    ...(isDeepStrictEqual(eventsOf(record.actions).toSorted(), declared.events.toSorted()) ? [] : ['events']),
    ...(record.isEnabled ? [] : ['enabled']),
  ]
  const { id } = record
  const { url, events } = declared
  return [
    ...(differing.length > 0
      ? [
          change(subject, differing.join(', '), () =>
            services.webhooks.update(viewer, { id, url, events, enabled: true }),
          ),
        ]
      : []),
    ...(services.webhooks.signsWith(record, secret)
      ? []
      : [change(subject, 'secret', () => services.webhooks.rotateSecret(viewer, id, secret))]),
  ]
}

function locationOf(context: ApplyContext, { location }: DeclaredWebhook): WebhookRecord['location'] {
  return location ? { providerId: idOfProvider(context, location.provider), path: location.path } : null
}
