/** The rows of WebDAV. */
import type { Answer, Call } from './api.ts'
import type { Need } from './model.ts'
import type { RouteRow, Target } from './row.ts'

const signedIn: Need = { who: 'anybody signed in', ignoresCookie: true }
const reads: Need = { ...signedIn, scope: 'read' }
const writes: Need = { ...signedIn, scope: 'write' }
const readPaths: Need = { ...reads, where: 'paths' }
const readWay: Need = { ...reads, where: 'way' }
const writePaths: Need = { ...writes, where: 'paths' }

export const stored = ({ n }: { n: number }) => `uploaded by ${n}`
const codes: Record<number, string> = { 401: 'UNAUTHENTICATED', 403: 'FORBIDDEN', 404: 'NOT_FOUND' }

/** Reads an error in XML like that of a REST endpoint. */
function interpret(answer: Answer): Answer {
  const reason = /<s:exception>(\w+)</.exec(answer.text)?.[1]
  const message = /<s:message>([^<]*)</.exec(answer.text)?.[1] ?? ''
  if (reason === undefined) return answer
  // WebDAV has its own statuses for operations that can never succeed.
  const status = reason === 'INTO_ITSELF' || reason === 'ROOT_IS_FIXED' ? 400 : answer.status
  const code = codes[status] ?? (status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_USER_INPUT')
  return { ...answer, status, errors: [{ message, extensions: { code, reason } }] }
}

const address = ({ provider, path }: { provider: string; path: string }) =>
  `/dav/${encodeURIComponent(provider)}${path.split('/').map(encodeURIComponent).join('/')}`

function call(method: string, { locations: [from, to] }: Target, more: Partial<Call> = {}): Call {
  // Without this, a folder that other cells need could be replaced.
  const destination: Record<string, string> = to ? { destination: address(to), overwrite: 'F' } : {}
  const path = from ? address(from) : '/dav'
  return { method, path, interpret, ...more, headers: { ...destination, ...more.headers } }
}

const row = (method: string, rest: Omit<RouteRow, 'call'>, more?: (target: Target) => Partial<Call>): RouteRow => ({
  ...rest,
  call: target => call(method, target, more?.(target)),
})

const xml = (text: string) => `<?xml version="1.0"?>${text}`
const property = xml(
  '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x:c xmlns:x="urn:x">1</x:c></D:prop></D:set></D:propertyupdate>',
)
const lockInfo = xml(
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>',
)
const depth = (value: string) => ({ headers: { depth: value } })

/** At `/dav` itself, which lists the storages. */
const top: Readonly<Record<string, RouteRow>> = {
  'OPTIONS /dav': row('OPTIONS', { needs: { who: 'anyone', ignoresCookie: true } }),
  'PROPFIND /dav': row('PROPFIND', { needs: reads }, () => depth('1')),
  'GET /dav': row('GET', { needs: reads, bounces: true }),
  'HEAD /dav': row('HEAD', { needs: reads, bounces: true }),
  ...Object.fromEntries(
    ['PUT', 'DELETE', 'MKCOL', 'COPY', 'MOVE', 'PROPPATCH', 'LOCK', 'UNLOCK'].map(method => [
      `${method} /dav`,
      row(method, { needs: writes, bounces: true }),
    ]),
  ),
}

export const webdavRoutes: Readonly<Record<string, RouteRow>> = {
  ...top,
  'OPTIONS /dav/*': row('OPTIONS', { needs: { who: 'anyone', ignoresCookie: true } }),
  'PROPFIND /dav/*': row('PROPFIND', { needs: readWay, takes: ['entry'] }, () => depth('0')),
  'PROPFIND /dav/* of a folder': row('PROPFIND', { needs: readWay, takes: ['folder'] }, () => depth('1')),
  'GET /dav/*': row('GET', { needs: readPaths, takes: ['file'], effect: 'sent', audit: 'DOWNLOAD' }),
  'HEAD /dav/*': row('HEAD', { needs: readPaths, takes: ['file'] }),
  'PUT /dav/*': row('PUT', { needs: writePaths, takes: ['new'], effect: 'stored', audit: 'UPLOAD' }, target => ({
    body: stored(target),
  })),
  'PUT /dav/* over a file': row(
    'PUT',
    { needs: writePaths, takes: ['replaced'], effect: 'stored', audit: 'UPLOAD' },
    target => ({ body: stored(target) }),
  ),
  'DELETE /dav/*': row('DELETE', { needs: writePaths, takes: ['doomed'], effect: 'gone', audit: 'DELETE' }),
  'MKCOL /dav/*': row('MKCOL', { needs: writePaths, takes: ['new'], effect: 'folder made', audit: 'FOLDER_CREATE' }),
  'COPY /dav/*': row('COPY', { needs: writePaths, takes: ['source', 'new'], effect: 'copied', audit: 'COPY' }),
  'MOVE /dav/*': row('MOVE', { needs: writePaths, takes: ['doomed', 'new'], effect: 'moved', audit: 'MOVE' }),
  'PROPPATCH /dav/*': row('PROPPATCH', { needs: writePaths, takes: ['entry'], audit: 'PROPERTIES_UPDATE' }, () => ({
    body: property,
  })),
  'LOCK /dav/*': row('LOCK', { needs: writePaths, takes: ['doomed'] }, () => ({
    body: lockInfo,
    headers: { depth: '0', timeout: 'Second-1' },
  })),
  'UNLOCK /dav/*': row('UNLOCK', { needs: writePaths, takes: ['entry'], bounces: true }, () => ({
    headers: { 'lock-token': '<opaquelocktoken:00000000-0000-4000-8000-000000000000>' },
  })),
}
