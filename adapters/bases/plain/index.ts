/**
 * The base of adapters for servers with files and folders, published as `stowage/adapter/plain`. It takes the commands of a back end
 * as `PlainFiles`, and returns a provider that stages writes and continues uploads.
 */
export { unreachable } from '../errors.ts'
export {
  connectionsProperty,
  folderProperty,
  hostProperty,
  passwordProperty,
  portProperty,
  showCertificate,
  userProperty,
} from './connect.ts'
export { isRefusal } from './errors.ts'
export type { Commit, Facts, PlainFiles, RenameOptions, StoreOptions } from './files.ts'
export { openPlainProvider } from './provider.ts'
