import type { Installation } from '../../../services/people/workspaces.ts'
import { builder } from '../builder.ts'
import { RegistrationEnum } from './workspace.ts'

const InstallationRef = builder.objectRef<Installation>('Installation').implement({
  description: 'Facts that a visitor needs before signing in.',
  fields: t => ({
    hasOwner: t.exposeBoolean('hasOwner', {
      description: 'False until the first person registers. That person owns the workspace.',
      authScopes: { public: true },
    }),
    needsSetupCode: t.exposeBoolean('needsSetupCode', {
      description: 'Whether the first person to register needs the code that the operator has set.',
      authScopes: { public: true },
    }),
    registration: t.expose('registration', {
      type: RegistrationEnum,
      description: 'Who can register.',
      authScopes: { public: true },
    }),
  }),
})

builder.queryField('installation', t =>
  t.field({
    type: InstallationRef,
    description: 'Facts that a visitor needs before signing in.',
    authScopes: { public: true },
    resolve: (_root, _args, { services }) => services.workspaces.installation(),
  }),
)
