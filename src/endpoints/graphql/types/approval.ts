/** Calls of agents that wait for a person. */
import type { ApprovalRecord } from '../../../db/approvals.ts'
import type { ApprovalState } from '../../../db/schema.ts'
import { maxPendingApprovals, maxShownApprovals } from '../../../services/approvals/index.ts'
import { builder } from '../builder.ts'
import { findCreator, UserRef } from '../refs.ts'
import { ApprovalKindEnum } from './workspace.ts'

const states: Record<ApprovalState, { description: string }> = {
  PENDING: { description: 'The call waits.' },
  APPROVED: { description: 'A person has approved the call, which has ten minutes to begin.' },
  REFUSED: { description: 'A person has refused the call.' },
  DONE: { description: 'The call has begun.' },
}

const ApprovalStateEnum = builder.enumType('ApprovalState', { description: 'The state of a call.', values: states })

const ApprovedEntryKind = builder.enumType('ApprovalEntryKind', {
  description: 'What a call would remove or replace.',
  values: { FILE: { description: 'A file.' }, FOLDER: { description: 'A folder.' } } as const,
})

const Approval = builder.objectRef<ApprovalRecord>('Approval').implement({
  description: 'A call through MCP that waits until a person approves or refuses it.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID.' }),
    kind: t.expose('kind', { type: ApprovalKindEnum, description: 'What the call would do.' }),
    tool: t.exposeString('tool', { description: 'The name of the tool.' }),
    state: t.expose('state', { type: ApprovalStateEnum, description: 'Whether the call still waits.' }),
    credentialName: t.exposeString('credentialName', {
      nullable: true,
      description: 'The name of the API key or the application that calls; null for a session.',
    }),
    owner: t.field({
      type: UserRef,
      nullable: true,
      description: 'The member whose credential it is, or null if they are no longer one.',
      authScopes: { credential: true },
      resolve: ({ userId }, _args, context) => findCreator(userId, context),
    }),
    providerId: t.exposeID('providerId', { description: 'The provider of the entry.' }),
    path: t.exposeString('path', { description: 'The path of the entry that the call would remove or replace.' }),
    entryKind: t.field({
      type: ApprovedEntryKind,
      description: 'What is there.',
      resolve: ({ details }) => details.entryKind,
    }),
    size: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'The size of the entry in bytes, or null if it is unknown.',
      resolve: ({ details }) => details.size,
    }),
    from: t.string({
      nullable: true,
      description: 'The path of the entry that would take its place; null for new content, and for a deletion.',
      resolve: ({ details }) => details.from,
    }),
    newLength: t.int({
      nullable: true,
      description: 'The number of characters of the content that would take its place, or null.',
      resolve: ({ details }) => details.newLength,
    }),
    isPermanent: t.boolean({
      description: 'Whether the call deletes for good, without the trash.',
      resolve: ({ details }) => details.isPermanent,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time of the call.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the call stops waiting.' }),
  }),
})

builder.queryField('approvals', t =>
  t.field({
    type: [Approval],
    description: `Returns the calls that wait for you, the oldest first, at most ${maxShownApprovals}: those with your own credentials and, for an administrator without restrictions, those of service accounts. ${maxPendingApprovals} calls of a member can wait.`,
    authScopes: { session: true },
    resolve: (_root, _args, { services, viewer }) => services.approvals.list(viewer),
  }),
)

builder.subscriptionField('approvalsChanged', t =>
  t.field({
    type: [Approval],
    description: 'Returns what `approvals` returns, now and after each change.',
    authScopes: { session: true },
    subscribe: (_root, _args, { services, viewer, signal }) => services.approvals.follow(viewer, signal),
    resolve: ({ approvals }: { approvals: readonly ApprovalRecord[] }) => [...approvals],
  }),
)

builder.mutationField('decideApproval', t =>
  t.field({
    type: Approval,
    description:
      'Approves or refuses a call that waits. An approval permits one call, with the rights that its credential then has.',
    audit: 'APPROVAL_DECIDE',
    authScopes: { session: true },
    args: {
      id: t.arg.id({ required: true, description: 'The ID of the call.' }),
      isApproved: t.arg.boolean({ required: true, description: 'True to approve, false to refuse.' }),
    },
    resolve: (_root, { id, isApproved }, { services, viewer }) => services.approvals.decide(viewer, id, isApproved),
  }),
)
