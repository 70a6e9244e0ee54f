import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'

/** The list of what others share with the person. */
export const texts = catalog('received', {
  title: 'Shared with me',
  all: 'All that is shared with me',
  loading: 'Loading what is shared with you',
  none: 'Nothing is shared with you yet',
  noneHelp:
    'When people of your workspace share files or folders with you or one of your groups, you find them here. You can open them without access to their storage.',
  /** The name of several files and folders that are shared together. */
  several: 'Several items',
  from: (name: string) => `From ${name}`,
  since: (time: ReactNode) => <>Since {time}</>,
  until: (time: ReactNode) => <>Until {time}</>,
  withPassword: 'With a password',
})
