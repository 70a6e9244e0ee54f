import { createRequire } from 'node:module'

/** The version of Stowage that this process runs. */
export const { version }: { version: string } = createRequire(import.meta.url)('stowage/package.json')
