/** The areas of providers that calls are aimed at. */
import type { Location } from './model.ts'
import type { Purpose } from './row.ts'
import { base, folders, type ProviderName, seedFile, seedFolder, type World } from './world.ts'

/**
 * `folder`: an entry in this folder, created for the purpose. `exact`: the path itself. `missing`: a name that does not
 * exist. `hostile`: text that careless code could read as another path.
 */
export interface Area {
  name: string
  provider: ProviderName
  kind: 'folder' | 'exact' | 'missing' | 'hostile'
  path: string
}

const inside: Area = { name: 'inside', provider: 'main', kind: 'folder', path: folders.inside }

export const areas: readonly Area[] = [
  inside,
  { name: 'deep inside', provider: 'main', kind: 'folder', path: folders.deep },
  { name: 'base', provider: 'main', kind: 'exact', path: base },
  { name: 'parent', provider: 'main', kind: 'exact', path: '/team' },
  { name: 'root', provider: 'main', kind: 'exact', path: '/' },
  { name: 'sibling with the same prefix', provider: 'main', kind: 'folder', path: folders.sibling },
  { name: 'beside', provider: 'main', kind: 'folder', path: folders.beside },
  { name: 'outside', provider: 'main', kind: 'folder', path: folders.outside },
  { name: 'missing inside', provider: 'main', kind: 'missing', path: folders.inside },
  { name: 'missing outside', provider: 'main', kind: 'missing', path: folders.outside },
  { name: 'hidden provider', provider: 'hidden', kind: 'folder', path: folders.inside },
  { name: 'root of the hidden provider', provider: 'hidden', kind: 'exact', path: '/' },
  { name: 'missing provider', provider: 'missing', kind: 'missing', path: folders.inside },
  { name: 'garbage for a provider', provider: 'garbage', kind: 'missing', path: folders.inside },
]

const seed = `canary-documents/${seedFile}`

export const hostilePaths: readonly string[] = [
  '',
  'team/backups/seed.txt',
  './team/backups/seed.txt',
  '//',
  '///team/backups/seed.txt',
  '//team/backups/seed.txt',
  `${base}/`,
  `${base}//seed.txt`,
  `${base}/.`,
  `${base}/./seed.txt`,
  `${base}/..`,
  `${base}/../`,
  `${base}/../../${seed}`,
  `${base}/deep/../../../${seed}`,
  `${base}/deep/../seed.txt`,
  `/../${seed}`,
  `/team/../${seed}`,
  `${base}-old/../backups/seed.txt`,
  `${base}\0/seed.txt`,
  `${base}/seed.txt\0.png`,
  `${base}/\0`,
  `${base}\\..\\..\\${seed.replaceAll('/', '\\')}`,
  `${base}/..\\..\\${seed.replaceAll('/', '\\')}`,
  `${base}\\seed.txt`,
  '\\team\\backups\\seed.txt',
  `${base}/%2e%2e/%2e%2e/${seed}`,
  `${base}/%2E%2E`,
  `${base}/..%2f..%2f${seed.replaceAll('/', '%2f')}`,
  `${base}/%2e%2e%2f%2e%2e%2f${seed}`,
  `${base}/%252e%252e/%252e%252e/${seed}`,
  `${base}/..%252f..%252f${seed.replaceAll('/', '%252f')}`,
  `${base}/..%5c..%5c${seed.replaceAll('/', '%5c')}`,
  `${base}/%00/seed.txt`,
  `${base}%2fseed.txt`,
  '/%74eam/backups/seed.txt',
  '%2fteam%2fbackups%2fseed.txt',
  `${base}/..%c0%af..%c0%af${seed}`,
  `${base}/\u2025/${seed}`,
  `${base}/\uff0e\uff0e/${seed}`,
  `${base}\uff0fseed.txt`,
  `${base}\u2215seed.txt`,
  `/team/back\u00adups/seed.txt`,
  `/team/backups\u200b/seed.txt`,
  `/team/b\u0430ckups/seed.txt`,
  '/Team/Backups/seed.txt',
  '/TEAM/BACKUPS/seed.txt',
  `${base} /seed.txt`,
  ` ${base}/seed.txt`,
  `${base}./seed.txt`,
  `${base}/ `,
  `${base}/...`,
  `${base}/~/x`,
  `${base}/~root`,
  `${base}/$HOME/x`,
  `${base}/*`,
  `${base}/x;y?path=/${seed}&providerId=1#f`,
  `${base}/x\r\nX-Injected: 1`,
  `${base}/x\ny`,
  `${base}/\u202etxt.gpj`,
  `${base}/seed.txt:stream`,
  `${base}::$DATA`,
  `file://${base}/seed.txt`,
  `C:${base}/seed.txt`,
  `//server/share${base}/seed.txt`,
  `/proc/self/root${base}`,
  `${base}/.stowage-staging`,
  `${base}/.stowage-staging/x`,
  `${base}/.STOWAGE-STAGING`,
  '/.stowage-trash',
  `/.stowage-trash/${seed}`,
  `${base}/.stowage-trash`,
  `${base}/.stowage-trash/x`,
  `${base}/.Stowage-Trash/x`,
  `${base}/deep/.STOWAGE-TRASH. ./x`,
  `${base}/.stowage-trash::$INDEX_ALLOCATION/x`,
  `${base}/.\u017ftowage-tra\u017fh/x`,
  `${base}/.\ufb06owage-trash/x`,
  `${base}/.stow\u00adage\u200b-trash/x`,
  `${base}/\uff0estowage-trash/x`,
  `${base}/${'x'.repeat(5000)}`,
  `${base}/${'x/'.repeat(2100)}x`,
  `${base}/${'../'.repeat(40)}etc/passwd`,
  `${base}/\ud800`,
  `${base}/${'\u00e9'.repeat(126)}`,
]

export const hostileAreas: readonly Area[] = hostilePaths.map(path => ({
  name: `hostile ${JSON.stringify(path.length > 60 ? `${path.slice(0, 60)}...` : path)}`,
  provider: 'main',
  kind: 'hostile',
  path,
}))

/** One area of each provider, for operations whose rights do not depend on a path. */
export const providerAreas: readonly Area[] = areas.filter(({ name }) =>
  ['inside', 'hidden provider', 'missing provider', 'garbage for a provider'].includes(name),
)

export const defaultArea = inside

export interface CellLocation extends Location {
  /** Whether a permitted call finds what it needs. */
  sure: boolean
}

/** @param n makes new names unique */
export function locate(world: World, area: Area, purpose: Purpose, n: number): CellLocation {
  const provider = world.providers[area.provider]
  const makes = purpose === 'new' || purpose === 'replaced'
  if (purpose === 'provider') return { provider, path: '/', sure: area.kind !== 'missing' }
  if (area.kind === 'exact')
    return { provider, path: area.path, makes, sure: purpose === 'folder' || purpose === 'entry' }
  if (area.kind === 'hostile') return { provider, path: area.path, makes, sure: false }
  if (area.kind === 'missing')
    return { provider, path: `${area.path}/not-here-${n}`, makes, sure: purpose === 'new' && area.provider === 'main' }
  const names = {
    file: seedFile,
    entry: seedFile,
    source: seedFile,
    folder: seedFolder,
    new: `new-${n}`,
    doomed: `doomed-${n}`,
    trashed: `trashed-${n}`,
    versioned: `versioned-${n}`,
    replaced: `doomed-${n}`,
    'same folder': '',
  }
  return { provider, path: `${area.path}/${names[purpose]}`, makes, sure: true }
}

/** Returns a free name beside a location, or a taken one beside shared folders, so that these never move. */
export function beside(location: CellLocation, n: number): CellLocation {
  const parent = location.path.slice(0, Math.max(0, location.path.lastIndexOf('/')))
  const taken: Record<string, string> = { [base]: 'backups-old', '/team': 'canary-documents' }
  return { ...location, path: `${parent}/${taken[location.path] ?? `renamed-${n}`}` }
}
