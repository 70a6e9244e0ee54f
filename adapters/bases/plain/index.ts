/** Published as `stowage/adapter/plain`. */
export { unreachable } from '../../unreachable.ts'
export { showCertificate } from './certificate.ts'
export { isRefusal } from './errors.ts'
export type { Commit, Facts, PlainFiles, RenameOptions, StoreOptions } from './files.ts'
export {
  connectionsProperty,
  folderProperty,
  hostProperty,
  passwordProperty,
  portProperty,
  userProperty,
} from './properties.ts'
export { openPlainProvider } from './provider.ts'
