import type { McpTool } from '../tool.ts'
import { listFolder, listProviders, search, stat } from './browse.ts'
import { copy, createFolder, deleteEntry, move, writeFile } from './change.ts'
import { cancelJob, getJob } from './jobs.ts'
import { readFile } from './read.ts'

/** All tools, in the order of `tools/list`. */
export const tools: readonly McpTool[] = [
  listProviders,
  listFolder,
  stat,
  search,
  readFile,
  getJob,
  writeFile,
  createFolder,
  copy,
  move,
  deleteEntry,
  cancelJob,
]
