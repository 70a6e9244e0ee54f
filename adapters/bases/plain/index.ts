/** Published as `stowage/adapter/plain`. */
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
