import { useLocation } from 'react-router'
import { type StorageLocation, storageAt } from '../../api/locations.ts'
import { pathOfHref } from '../addresses.ts'
import { useProviders } from '../listing.ts'

/** Returns the folder of the page; null on pages that show none. Addresses without a path are of the topmost folder. */
export function useOpenFolder(): StorageLocation | null {
  const { pathname } = useLocation()
  const { data: providers = [] } = useProviders()
  const [, page, id] = pathname.split('/')
  if ((page !== 'files' && page !== 'trash') || !id) return null
  const providerId = decodeURIComponent(id)
  const path = page === 'files' ? pathOfHref(pathname) : null
  return { providerId, path: path ?? storageAt(providers, { providerId, path: '/' })?.root.path ?? '/' }
}
