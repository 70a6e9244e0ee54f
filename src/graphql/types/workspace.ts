import type { Registration } from '../../db/schema.ts'
import { builder } from '../builder.ts'
import { WorkspaceRef } from '../refs.ts'

const registrations: Record<Registration, { description: string }> = {
  OPEN: { description: 'Anybody can register; they reach nothing until an administrator gives them a role.' },
  INVITE: { description: 'Only with an invite.' },
  CLOSED: { description: 'Nobody.' },
}

export const RegistrationEnum = builder.enumType('Registration', {
  description: 'Who can become a member by registering.',
  values: registrations,
})

WorkspaceRef.implement({
  description: 'What people, keys and providers belong to.',
  fields: t => ({
    id: t.exposeID('id', { description: 'Stays the same for good.' }),
    name: t.exposeString('name', { description: 'For people.' }),
    registration: t.expose('registration', { type: RegistrationEnum, description: 'Who can register.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the first person registered.' }),
  }),
})

const UpdateWorkspaceInput = builder.inputType('UpdateWorkspaceInput', {
  description: 'What is left out stays as it is; at least one is given.',
  fields: t => ({
    name: t.string({ description: '1 to 200 characters.' }),
    registration: t.field({ type: RegistrationEnum, description: 'Who can register from now on.' }),
  }),
})

builder.queryField('workspace', t =>
  t.field({
    type: WorkspaceRef,
    description: 'The workspace that the credential is in.',
    authScopes: { credential: true },
    resolve: (_root, _args, { services, viewer }) => services.workspaces.get(viewer),
  }),
)

builder.mutationField('updateWorkspace', t =>
  t.field({
    type: WorkspaceRef,
    description: 'Changes the settings of the workspace.',
    audit: 'WORKSPACE_UPDATE',
    authScopes: { scope: 'admin' },
    args: { input: t.arg({ type: UpdateWorkspaceInput, required: true, description: 'What to change.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.workspaces.update(viewer, input),
  }),
)
