import { graphql, type ResultOf } from '../../api/graphql.ts'

const WebhookFields = graphql(`
  fragment WebhookFields on Webhook @_unmask {
    id name url events enabled error createdAt
    location { providerId path }
    createdBy { name email }
  }
`)

export const WebhooksQuery = graphql(
  `
  query Webhooks {
    webhooks { ...WebhookFields }
    providers { id name basePaths }
  }
`,
  [WebhookFields],
)

export type Webhook = ResultOf<typeof WebhooksQuery>['webhooks'][number]
export type EventName = Webhook['events'][number]

export const CreateWebhookMutation = graphql(`
  mutation CreateWebhook($input: CreateWebhookInput!) { createWebhook(input: $input) { secret } }
`)

export const UpdateWebhookMutation = graphql(`
  mutation UpdateWebhook($input: UpdateWebhookInput!) { updateWebhook(input: $input) { id } }
`)

export const DeleteWebhookMutation = graphql(`
  mutation DeleteWebhook($id: ID!) { deleteWebhook(id: $id) }
`)

export const RotateSecretMutation = graphql(`
  mutation RotateWebhookSecret($id: ID!) { rotateWebhookSecret(id: $id) { secret } }
`)

export const TestWebhookMutation = graphql(`
  mutation TestWebhook($id: ID!) { testWebhook(id: $id) { id } }
`)

export const ReplayMutation = graphql(`
  mutation ReplayDeliveries($input: ReplayDeliveriesInput!) { replayDeliveries(input: $input) }
`)

export const DeliveriesQuery = graphql(`
  query Deliveries($id: ID!, $after: String) {
    webhook(id: $id) {
      deliveries(first: 25, after: $after) {
        nodes { id type state attempts status error nextAttemptAt occurredAt }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

export type Delivery = ResultOf<typeof DeliveriesQuery>['webhook']['deliveries']['nodes'][number]
