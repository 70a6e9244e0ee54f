import { type Backoff, type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/backoff.ts'
import { hasCode } from '../../bases/cloud/failure.ts'
import { HttpClient } from '../../bases/cloud/http.ts'
import { fromHost } from '../../bases/cloud/tokens.ts'
import { type Host, StorageError } from '../../contract.ts'
import { DriveApi } from './api.ts'
import type { Endpoints, GoogleDriveConfig, ServiceAccount } from './config.ts'
import { google } from './errors.ts'
import { DriveFiles } from './files.ts'
import { GoogleDriveProvider } from './provider.ts'
import { fromServiceAccount } from './tokens.ts'

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
  /** Milliseconds for which a cached folder id is used without looking it up again. */
  trust: number
}

/** @param account undefined to use the OAuth consent that the host stores */
export async function openProvider(
  { driveId, rootFolderId }: GoogleDriveConfig,
  account: ServiceAccount | undefined,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): Promise<GoogleDriveProvider> {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts, trust = 2000 } = options
  const { network } = host
  const token = account ? fromServiceAccount(account, endpoints, network, timeouts.token) : fromHost(host)
  const http = new HttpClient({ vendor: google, network, token, backoff, timeouts })
  const files = new DriveFiles(new DriveApi(http, endpoints.api), { driveId, rootFolderId })
  // Check a service account now. With OAuth there may be no consent yet.
  if (account) await files.root(AbortSignal.timeout(30_000)).catch(refuseRoot)
  return new GoogleDriveProvider(files, host, trust)
}

function refuseRoot(error: unknown): never {
  if (error instanceof StorageError && hasCode(error, 'PERMISSION_DENIED')) {
    throw new StorageError('INVALID_CONFIG', error.message, { cause: error })
  }
  throw error
}
