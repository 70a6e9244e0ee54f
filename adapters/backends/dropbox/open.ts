import { HttpClient } from '../../bases/cloud/http.ts'
import { type Backoff, type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/repeat.ts'
import { fromHost } from '../../bases/cloud/tokens.ts'
import type { Host } from '../../contract.ts'
import { DropboxApi } from './api.ts'
import type { DropboxConfig, Endpoints } from './config.ts'
import { dropbox } from './errors.ts'
import { DropboxFiles } from './files.ts'
import { DropboxProvider } from './provider.ts'

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
}

/** Sends no request: there may be no consent yet. */
export function openProvider(
  { space, rootFolder = '' }: DropboxConfig,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): DropboxProvider {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts } = options
  const http = new HttpClient({ vendor: dropbox, network: host.network, token: fromHost(host), backoff, timeouts })
  return new DropboxProvider(new DropboxFiles(new DropboxApi(http, endpoints, space === 'team'), rootFolder))
}
