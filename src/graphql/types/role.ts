import { builder } from '../builder.ts'

export const RoleEnum = builder.enumType('Role', {
  description: 'What a member of the workspace is. A credential never reaches further than the role of its owner.',
  values: {
    OWNER: { description: 'Reaches admin; only owners make owners. A workspace has at least one.' },
    ADMIN: { description: 'Reaches admin.' },
    EDITOR: { description: 'Reaches write.' },
    VIEWER: { description: 'Reaches read.' },
    NONE: { description: 'Reaches nothing but what is their own.' },
  } as const,
})
