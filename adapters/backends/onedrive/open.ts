import { HttpClient } from '../../bases/cloud/http.ts'
import { type Backoff, type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/repeat.ts'
import { fromHost } from '../../bases/cloud/tokens.ts'
import type { Host } from '../../contract.ts'
import { drivePathOf, type Endpoints, type OneDriveConfig } from './config.ts'
import { onedrive } from './errors.ts'
import { DriveItems } from './items.ts'
import { OneDriveProvider } from './provider.ts'

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
  /** Milliseconds between looks at a copy that OneDrive makes. */
  copyInterval: number
}

/** Sends no request: there may be no consent yet. */
export function openProvider(
  config: OneDriveConfig,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): OneDriveProvider {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts, copyInterval = 500 } = options
  const http = new HttpClient({ vendor: onedrive, network: host.network, token: fromHost(host), backoff, timeouts })
  const drive = `${endpoints.api}${drivePathOf(config)}`
  return new OneDriveProvider(new DriveItems(http, { drive, root: config.rootFolder ?? '' }), copyInterval)
}
