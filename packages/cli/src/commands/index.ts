import type { Command } from '../command.ts'
import { cat } from './cat.ts'
import { completionCommand } from './completion.ts'
import { cp } from './cp.ts'
import { jobsCancel, jobsPause, jobsResume, jobsRetry } from './jobs-change.ts'
import { jobsList } from './jobs-list.ts'
import { jobsShow } from './jobs-show.ts'
import { jobsWait } from './jobs-wait.ts'
import { keysCreate } from './keys-create.ts'
import { keysList } from './keys-list.ts'
import { keysRevoke } from './keys-revoke.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { ls } from './ls.ts'
import { mkdir } from './mkdir.ts'
import { mv } from './mv.ts'
import { rm } from './rm.ts'
import { shareCreate } from './share-create.ts'
import { shareList } from './share-list.ts'
import { shareRevoke } from './share-revoke.ts'
import { stat } from './stat.ts'
import { sync } from './sync.ts'
import { trashEmpty } from './trash-empty.ts'
import { trashLs } from './trash-ls.ts'
import { trashRestore } from './trash-restore.ts'
import { whoami } from './whoami.ts'

const ownCommands: readonly Command[] = [
  login,
  logout,
  whoami,
  ls,
  stat,
  cat,
  mkdir,
  cp,
  mv,
  rm,
  sync,
  trashLs,
  trashRestore,
  trashEmpty,
  keysList,
  keysCreate,
  keysRevoke,
  shareCreate,
  shareList,
  shareRevoke,
  jobsList,
  jobsShow,
  jobsWait,
  jobsPause,
  jobsResume,
  jobsCancel,
  jobsRetry,
]

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [...ownCommands, completionCommand(ownCommands)]
