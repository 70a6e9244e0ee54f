/** Published as `stowage/adapter/plain`. */
export type { Facts, PlainFiles } from './files.ts'
export { openPlainProvider } from './provider.ts'
