/** The list of all commands. The help, the completion and the documentation have their order. */
import type { Command } from '../command.ts'
import { activity } from './activity.ts'
import { commentAdd, commentLs, commentRm } from './comments.ts'
import { completionCommand } from './completion.ts'
import { copiesCheck, copiesCreate, copiesLs, copiesReport } from './copies.ts'
import { cp, mv } from './cp.ts'
import { cat, mkdir, stat } from './entries.ts'
import { jobsCancel, jobsList, jobsPause, jobsResume, jobsRetry, jobsShow, jobsWait, verify } from './jobs.ts'
import { keysCreate, keysList, keysRevoke } from './keys.ts'
import { ls } from './ls.ts'
import { starAdd, starLs, starRm, tagAdd, tagLs, tagRm } from './marks.ts'
import { overview } from './overview.ts'
import { holdCreate, holdLs, holdRelease, lockEnd } from './protection.ts'
import { quotaLs, quotaSet } from './quotas.ts'
import { restore } from './restore.ts'
import { rm } from './rm.ts'
import { search } from './search.ts'
import { shareCreate, shareList, shareRevoke } from './shares.ts'
import { login, logout, whoami } from './sign-in.ts'
import { sync } from './sync.ts'
import { trashEmpty, trashLs, trashRestore } from './trash.ts'
import { versionsGet, versionsLs, versionsRestore, versionsRm } from './versions.ts'

const ownCommands: readonly Command[] = [
  login,
  logout,
  whoami,
  ls,
  search,
  stat,
  cat,
  mkdir,
  cp,
  mv,
  rm,
  sync,
  verify,
  copiesLs,
  copiesCreate,
  copiesCheck,
  copiesReport,
  restore,
  trashLs,
  trashRestore,
  trashEmpty,
  versionsLs,
  versionsGet,
  versionsRestore,
  versionsRm,
  starLs,
  starAdd,
  starRm,
  tagLs,
  tagAdd,
  tagRm,
  commentLs,
  commentAdd,
  commentRm,
  activity,
  holdLs,
  holdCreate,
  holdRelease,
  lockEnd,
  quotaLs,
  quotaSet,
  overview,
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

export const commands: readonly Command[] = [...ownCommands, completionCommand(ownCommands)]
