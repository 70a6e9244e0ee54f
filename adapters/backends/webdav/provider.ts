import { ifRefused, isRefusal } from '../../bases/plain/errors.ts'
import { openPlainProvider } from '../../bases/plain/provider.ts'
import { type Host, StorageError, type StorageProvider } from '../../contract.ts'
import { DavClient } from './client.ts'
import type { WebdavSettings } from './config.ts'
import { type Features, webdavFiles } from './files.ts'
import { featuresRequest, hasFileId, syncTokenIn, toFacts, toQuota } from './properties.ts'

const depth0 = { depth: '0', 'content-type': 'application/xml' }

/** The property sets of Apache's file systems, by which its OPTIONS names itself. */
const apacheFiles = '<http://apache.org/dav/propset/fs/1>'

/** @throws INVALID_CONFIG, UNAUTHORIZED, UNAVAILABLE */
export async function openProvider(settings: WebdavSettings, host: Host): Promise<StorageProvider> {
  const client = new DavClient(settings, host.network)
  try {
    const features = await featuresOf(client, settings, host)
    return await openPlainProvider(webdavFiles(settings, features, client), host)
  } catch (error) {
    client.close()
    throw error
  }
}

/** Asks the server what it can do, and checks the folder. */
async function featuresOf(client: DavClient, { base }: WebdavSettings, { signal }: Host): Promise<Features> {
  const look = { signal, headers: depth0, body: featuresRequest }
  const response = await client.send('PROPFIND', base, look).catch(cause => {
    if (!isRefusal(cause)) throw cause
    throw invalid(`There is no WebDAV folder at this address: ${cause.message}`, cause)
  })
  let features: Features | undefined
  for await (const resource of client.resources(response)) {
    const { kind } = toFacts(resource, null, { storeId: '', isOwnCloud: false })
    if (kind === 'file') throw invalid('There is a file at this address: enter the address of a folder.')
    const isOwnCloud = hasFileId(resource)
    features ??= {
      isOwnCloud,
      hasQuota: toQuota(resource).used !== null,
      replacesByPut: isOwnCloud,
      uploads: null,
      hasSync: syncTokenIn(resource) !== null,
    }
  }
  if (!features) throw invalid('The server says nothing about this address: enter that of a WebDAV folder.')
  if (features.isOwnCloud) return { ...features, uploads: await uploadsBeside(client, base, signal) }
  const answer = await client.run('OPTIONS', base, { signal }).catch(ifRefused(null))
  return { ...features, replacesByPut: String(answer?.headers.get('dav')).includes(apacheFiles) }
}

/** The files of a user at Nextcloud and ownCloud. */
const filesAddress = /^(.*\/remote\.php\/dav\/)files\/([^/]+)\//

/** Returns the folder of the user's uploads in chunks, or null if there is none: ownCloud Infinite Scale has other uploads (TUS). */
async function uploadsBeside(client: DavClient, base: string, signal: AbortSignal): Promise<string | null> {
  const [, dav, user] = filesAddress.exec(base) ?? []
  if (user === undefined) return null
  const uploads = `${dav}uploads/${user}/`
  const look = { signal, headers: depth0, body: featuresRequest }
  const response = await client.send('PROPFIND', uploads, look).catch(ifRefused(null))
  response?.discard()
  return response && uploads
}

function invalid(message: string, cause?: unknown): StorageError {
  return new StorageError('INVALID_CONFIG', message, { cause, property: { name: 'url' } })
}
