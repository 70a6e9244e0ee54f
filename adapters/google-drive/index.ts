import { type AdapterDefinition, StorageError } from '../contract.ts'
import { type Backoff, DriveApi, usualBackoff } from './api.ts'
import {
  configSchema,
  type Endpoints,
  type GoogleDriveConfig,
  googleEndpoints,
  parseServiceAccount,
  requireClient,
} from './config.ts'
import { hasCode } from './errors.ts'
import { DriveFiles } from './files.ts'
import { oauthFlow } from './oauth.ts'
import { GoogleDriveProvider } from './provider.ts'
import { fromHost, fromServiceAccount } from './tokens.ts'

export type { Endpoints, GoogleDriveConfig }

/** What an operator never sets. */
export interface GoogleDriveOptions {
  endpoints?: Endpoints
  backoff?: Backoff
  /** Milliseconds for which the place of a folder is believed without asking again. */
  trust?: number
}

export function googleDriveAdapter(options: GoogleDriveOptions = {}): AdapterDefinition<GoogleDriveConfig> {
  const { endpoints = googleEndpoints, backoff = usualBackoff, trust = 2000 } = options
  return {
    type: 'google-drive',
    apiVersion: 1,
    title: 'Google Drive',
    configSchema,
    oauth: oauthFlow(endpoints),
    async open(config, host) {
      const { serviceAccountKey, ...place } = config
      if (serviceAccountKey === undefined) requireClient(config)
      const token =
        serviceAccountKey === undefined
          ? fromHost(host)
          : fromServiceAccount(parseServiceAccount(serviceAccountKey), endpoints)
      const files = new DriveFiles(new DriveApi(endpoints, token, backoff), place)
      // With OAuth there may be no consent yet; a service account can be tried at once.
      if (serviceAccountKey !== undefined) await files.root(AbortSignal.timeout(30_000)).catch(refuseRoot)
      return new GoogleDriveProvider(files, host, trust)
    },
  }
}

function refuseRoot(error: unknown): never {
  if (error instanceof StorageError && hasCode(error, 'PERMISSION_DENIED')) {
    throw new StorageError('INVALID_CONFIG', error.message, { cause: error })
  }
  throw error
}
