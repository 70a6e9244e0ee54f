import { builder } from '../builder.ts'

export const ScopeEnum = builder.enumType('Scope', {
  description:
    'A level of permission of a credential. Each scope includes those below it: admin includes write, write includes read.',
  values: {
    read: { description: 'List folders, browse and download files, list providers.' },
    write: { description: 'Upload, delete, move, rename and copy files, and create folders.' },
    admin: { description: 'Manage workspace settings, members and providers. Full access.' },
  } as const,
})
