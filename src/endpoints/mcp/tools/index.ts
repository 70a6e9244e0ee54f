/**
 * The tools that agents call, in files by subject. The arguments of a call enter, parsed by the schema of the tool. The tool
 * calls a service, and text for the agent leaves.
 */
import type { McpTool } from '../tool.ts'
import { listFolder, listProviders, stat } from './browse.ts'
import { copy, createFolder, deleteEntry, move, writeFile } from './change.ts'
import { cancelJob, getJob, listKeptCopies } from './jobs.ts'
import { readFile } from './read.ts'
import { find, search } from './search.ts'
import { listVersions, restoreVersion } from './versions.ts'

/** All tools, in the order of `tools/list`. */
export const tools: readonly McpTool[] = [
  listProviders,
  listFolder,
  stat,
  search,
  find,
  readFile,
  listVersions,
  getJob,
  listKeptCopies,
  writeFile,
  createFolder,
  copy,
  move,
  restoreVersion,
  deleteEntry,
  cancelJob,
]
