import { builder } from '../builder.ts'

export const RoleEnum = builder.enumType('Role', {
  description: 'The role of a member in the workspace. A credential never has more access than the role of its owner.',
  values: {
    OWNER: { description: 'Has the scope admin. Only owners can appoint owners. A workspace has at least one owner.' },
    ADMIN: { description: 'Has the scope admin.' },
    EDITOR: { description: 'Has the scope write.' },
    VIEWER: { description: 'Has the scope read.' },
    NONE: { description: 'Has no scope. Can manage only their own account.' },
  } as const,
})
