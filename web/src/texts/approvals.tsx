import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'
import { formatNumber } from './format.ts'

/** Approvals: what agents may do only after a person has agreed. */
export const texts = catalog('approvals', {
  approvals: 'Approvals',
  waiting: (count: number) => (count === 1 ? '1 approval' : `${formatNumber(count)} approvals`),
  help: 'Calls of agents that delete or replace something wait here until you decide. If you do not decide within an hour, nothing happens.',
  loading: 'Loading the approvals',
  none: 'Nothing waits for you.',
  request: 'Request',
  agent: 'Agent',
  asked: 'Asked',
  session: 'A session',
  deletes: (path: ReactNode) => <>Delete {path}</>,
  replaces: (path: ReactNode) => <>Replace {path}</>,
  replacesWith: (path: ReactNode, from: ReactNode) => (
    <>
      Replace {path} with {from}
    </>
  ),
  entryKinds: { FILE: 'File', FOLDER: 'Folder with everything in it' },
  forGood: 'For good, without the trash',
  newText: (length: number) => `${formatNumber(length)} characters of new content`,
  approve: 'Approve',
  refuse: 'Refuse',

  // In the settings of the workspace
  required: 'Agents need approval to',
  kinds: { DELETION: 'Delete files and folders', OVERWRITE: 'Replace files and folders' },
  requiredHelp: 'A call through MCP then waits until the person who connected the agent approves it in the console.',
})
