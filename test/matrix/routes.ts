/** One or more rows for each REST route, named "POST /path" and a variant. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Reason, reasons } from '../../src/errors.ts'
import { message, toolCall, toolOutcome } from '../support/mcp.ts'
import type { Answer, Call } from './api.ts'
import type { Location, Need } from './model.ts'
import { at, type RouteRow, type Target, versionId } from './row.ts'
import { webdavRoutes } from './webdav-routes.ts'

const anyone: Need = { who: 'anyone' }
const signedIn: Need = { who: 'anybody signed in' }
const readPaths: Need = { who: 'anybody signed in', scope: 'read', where: 'paths' }
const writePaths: Need = { who: 'anybody signed in', scope: 'write', where: 'paths' }

const adminPaths: Need = { who: 'anybody signed in', scope: 'admin', where: 'paths' }
const writeSomewhere: Need = { who: 'anybody signed in', scope: 'write' }

const boundary = 'a-boundary-of-this-test'
export const uploaded = ({ n }: { n: number }) => `uploaded by ${n}`

function query(path: string, { locations: [location] }: Target, more = ''): string {
  return `${path}?providerId=${encodeURIComponent(location?.provider ?? '')}&path=${encodeURIComponent(location?.path ?? '')}${more}`
}

/** Asks for an archive of one location. */
function archiveOf({ locations: [location] }: Target): Call {
  const body = JSON.stringify({ providerId: location?.provider ?? '', paths: [location?.path ?? ''] })
  return { method: 'POST', path: '/api/download/archive', headers: { 'content-type': 'application/json' }, body }
}

/** Builds a form. It splits the path at its last `/` into the folder and the file name. */
function form(target: Target): { headers: Record<string, string>; body: string } {
  const { provider = '', path = '' } = target.locations[0] ?? {}
  const slash = path.lastIndexOf('/')
  const field = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const body = `${field('providerId', provider)}${field('path', path.slice(0, slash) || '/')}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${path.slice(slash + 1)}"\r\n\r\n${uploaded(target)}\r\n--${boundary}--\r\n`
  return { headers: { 'content-type': `multipart/form-data; boundary=${boundary}` }, body }
}

/** Builds a tus creation with the whole file in its body. */
function createWithBody(target: Target, conflict: string): { headers: Record<string, string>; body: string } {
  const { provider = '', path = '' } = target.locations[0] ?? {}
  const body = uploaded(target)
  const metadata = Object.entries({ providerId: provider, path, conflict })
    .map(([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`)
    .join(',')
  const headers = {
    'tus-resumable': '1.0.0',
    'upload-length': String(Buffer.byteLength(body)),
    'upload-metadata': metadata,
    'content-type': 'application/offset+octet-stream',
  }
  return { headers, body }
}

/** Calls for an unknown upload. `test/http/resumable.test.ts` tests who may continue an existing one. */
const unknownUpload = (method: string, more: Record<string, string> = {}): RouteRow => ({
  needs: writeSomewhere,
  bounces: true,
  call: () => ({
    method,
    path: '/api/upload/resumable/unknown',
    headers: {
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      ...more,
    },
  }),
})

const page = (path: string): RouteRow => ({ needs: anyone, call: () => ({ method: 'GET', path }) })
const head = (path: string): RouteRow => ({ needs: anyone, call: () => ({ method: 'HEAD', path }) })

const mcpNeed = { who: 'anybody signed in', ignoresCookie: true, isMcp: true } as const
const mcpRead: Need = { ...mcpNeed, scope: 'read' }
const mcpReadPaths: Need = { ...mcpRead, where: 'paths' }
const mcpWrite: Need = { ...mcpNeed, scope: 'write' }
const mcpWritePaths: Need = { ...mcpWrite, where: 'paths' }

/** Reads the result of a tool like the response of a REST endpoint. */
export function interpretTool(answer: Answer): Answer {
  const { status, output, errors } = toolOutcome(answer.status, answer.text)
  const body = errors.length > 0 ? { errors } : output
  return { status, body, errors, text: output?.content ?? JSON.stringify(body) }
}

/** Calls a tool, in turn as the present version of the protocol and as the one before. */
function tool(name: string, row: Omit<RouteRow, 'call'>, args: (target: Target) => object): RouteRow {
  const call: RouteRow['call'] = target => ({
    ...toolCall(name, args(target), { isEarlier: target.n % 2 === 1 }),
    interpret: interpretTool,
  })
  return { ...row, call }
}

const ends = (target: Target) => ({
  ...at(target),
  toProviderId: target.locations[1]?.provider ?? '',
  toPath: target.locations[1]?.path ?? '',
})

/** The tools of the MCP server. */
const mcpTools: Readonly<Record<string, RouteRow>> = {
  'POST /mcp': { needs: mcpRead, call: () => message('tools/list') },
  'POST /mcp list_providers': tool('list_providers', { needs: mcpRead }, () => ({})),
  'POST /mcp list_folder': tool('list_folder', { needs: mcpReadPaths, takes: ['folder'] }, at),
  'POST /mcp stat': tool('stat', { needs: mcpReadPaths, takes: ['entry'], effect: 'names its path' }, at),
  'POST /mcp search': tool('search', { needs: mcpReadPaths, takes: ['folder'] }, target => ({
    ...at(target),
    name: 'seed',
  })),
  'POST /mcp find': tool('find', { needs: mcpRead }, () => ({ text: 'seed' })),
  'POST /mcp read_file': tool(
    'read_file',
    { needs: mcpReadPaths, takes: ['file'], effect: 'sent', audit: 'DOWNLOAD' },
    at,
  ),
  'POST /mcp read_file of a version': tool(
    'read_file',
    { needs: mcpReadPaths, takes: ['versioned'], effect: 'sent', audit: 'DOWNLOAD' },
    target => ({ ...at(target), version: target.ids.version }),
  ),
  'POST /mcp list_versions': tool('list_versions', { needs: mcpReadPaths, takes: ['versioned'] }, at),
  'POST /mcp restore_version': tool(
    'restore_version',
    { needs: mcpWritePaths, takes: ['versioned'], bounces: true, audit: 'RESTORE' },
    target => ({ ...at(target), version: target.ids.version }),
  ),
  'POST /mcp write_file': tool(
    'write_file',
    { needs: mcpWritePaths, takes: ['new'], effect: 'stored', audit: 'UPLOAD' },
    target => ({ ...at(target), content: uploaded(target) }),
  ),
  'POST /mcp write_file over a file': tool(
    'write_file',
    { needs: mcpWritePaths, takes: ['replaced'], effect: 'stored', audit: 'UPLOAD' },
    target => ({ ...at(target), content: uploaded(target), conflict: 'REPLACE' }),
  ),
  'POST /mcp create_folder': tool(
    'create_folder',
    { needs: mcpWritePaths, takes: ['new'], effect: 'folder made', audit: 'FOLDER_CREATE' },
    at,
  ),
  'POST /mcp copy': tool(
    'copy',
    { needs: mcpWritePaths, takes: ['source', 'new'], effect: 'copied', audit: 'COPY' },
    ends,
  ),
  'POST /mcp move': tool(
    'move',
    { needs: mcpWritePaths, takes: ['doomed', 'new'], effect: 'moved', audit: 'MOVE' },
    ends,
  ),
  'POST /mcp delete': tool(
    'delete',
    { needs: mcpWritePaths, takes: ['doomed'], effect: 'gone', audit: 'DELETE' },
    target => ({ ...at(target), confirm: at(target).path }),
  ),
  'POST /mcp get_job': tool('get_job', { needs: mcpRead, bounces: true }, ({ ids }) => ({ jobId: ids.job })),
  'POST /mcp list_kept_copies': tool('list_kept_copies', { needs: mcpRead }, () => ({})),
  'POST /mcp cancel_job': tool('cancel_job', { needs: mcpWrite, spends: 'paused job', bounces: true }, ({ ids }) => ({
    jobId: ids.job,
  })),
}

/** Reads a response of S3 like that of a REST endpoint. */
function interpretS3(answer: Answer, headers: IncomingHttpHeaders): Answer {
  const reason = headers['x-stowage-reason'] as Reason | undefined
  if (reason === undefined) return answer
  const { code, status } = reasons[reason]
  const text = answer.text.replace(/<RequestId>[^<]*</, '<RequestId><')
  const [, message = ''] = /<Message>([^<]*)</.exec(answer.text) ?? []
  return { ...answer, text, status, errors: [{ message, extensions: { code, reason } }] }
}

/** Reads an error of OAuth like that of a REST endpoint. */
function interpretOAuth(answer: Answer): Answer {
  if (answer.status < 400) return answer
  const { reason, error_description: message } = JSON.parse(answer.text) as {
    reason: Reason
    error_description: string
  }
  return { ...answer, errors: [{ message, extensions: { code: reasons[reason].code, reason } }] }
}

/** Calls an endpoint of OAuth with a body that is refused. A code, a token or a description is what it asks for, and no credential. */
function oauth(path: string, type: string, body: string): RouteRow {
  const headers = { 'content-type': type }
  const call = { method: 'POST', path, headers, body, interpret: interpretOAuth }
  return { needs: { who: 'anyone', ignoresCookie: true }, bounces: true, call: () => call }
}

const oauthForm = 'application/x-www-form-urlencoded'
const metadataOf = (path: string): RouteRow => ({ ...page(path), needs: { who: 'anyone', ignoresCookie: true } })
const oauthRoutes = Object.fromEntries([
  ['POST /oauth/token', oauth('/oauth/token', oauthForm, 'grant_type=authorization_code&code=unknown')],
  ['POST /oauth/revoke', oauth('/oauth/revoke', oauthForm, 'unknown=1')],
  ['POST /oauth/register', oauth('/oauth/register', 'application/json', '{}')],
  ...['server', 'resource'].flatMap(of => {
    const path = `/.well-known/oauth-${of === 'server' ? 'authorization-server' : 'protected-resource'}`
    const below = metadataOf(of === 'server' ? `${path}/` : `${path}/mcp`)
    return ['GET', 'HEAD'].flatMap(method => {
      const as = (row: RouteRow): RouteRow => ({ ...row, call: target => ({ ...row.call(target), method }) })
      return [
        [`${method} ${path}`, as(metadataOf(path))],
        [`${method} ${path}/*`, as(below)],
      ]
    })
  }),
])

/** Calls S3 at a key. */
function s3(
  method: string,
  row: Omit<RouteRow, 'call'>,
  more: (target: Target) => Partial<Call> = () => ({}),
): RouteRow {
  return {
    ...row,
    call: target => ({ method, path: keyOf(target.locations.at(-1)), interpret: interpretS3, ...more(target) }),
  }
}

/** Calls S3 at a bucket. */
function s3Bucket(method: string, rest: Omit<RouteRow, 'call' | 'takes'>, query: string): RouteRow {
  const call = ({ locations: [at] }: Target) => ({ path: `/s3/${encodeURIComponent(at?.provider ?? '')}${query}` })
  return s3(method, { ...rest, takes: ['provider'] }, call)
}

/** Continues an upload that does not exist. */
function s3Upload(method: string, body?: string): RouteRow {
  const query = `?uploadId=${'x'.repeat(32)}${method === 'PUT' ? '&partNumber=1' : ''}`
  const row = { needs: writePaths, takes: ['new'], bounces: true } as const
  return s3(method, row, ({ locations: [at] }) => ({
    path: `${keyOf(at)}${query}`,
    ...(body !== undefined && { body }),
  }))
}

const keyIn = ({ locations: [at] }: Target) => (at?.path ?? '').slice(1)

/** Reads the error of the only key like that of a REST endpoint. */
function interpretDelete(answer: Answer, headers: IncomingHttpHeaders): Answer {
  const reason = /<Error>.*<Reason>(\w+)</s.exec(answer.text)?.[1]
  // The response names the key that the request names.
  const shown = { ...answer, text: answer.text.replace(/<Key>[^<]*</, '<Key><') }
  return interpretS3(shown, reason === undefined ? headers : { ...headers, 'x-stowage-reason': reason })
}

const escaped = (text: string) => text.replace(/[&<>]/g, character => `&#${character.charCodeAt(0)};`)

function s3Delete(target: Target): Partial<Call> {
  const [at] = target.locations
  const body = `<Delete><Object><Key>${escaped(keyIn(target))}</Key></Object></Delete>`
  return { path: `/s3/${encodeURIComponent(at?.provider ?? '')}?delete`, body, interpret: interpretDelete }
}

function s3Form(target: Target): Partial<Call> {
  const [at] = target.locations
  const part = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const file = part('file"; filename="x', uploaded(target))
  return {
    path: `/s3/${encodeURIComponent(at?.provider ?? '')}`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: `${part('key', keyIn(target))}${file}--${boundary}--\r\n`,
  }
}

function keyOf({ provider = '', path = '/x' }: Partial<Location> = {}): string {
  return `/s3/${encodeURIComponent(provider)}${path.split('/').map(encodeURIComponent).join('/')}`
}

const condition = { 'x-amz-copy-source-if-none-match': '"other"' }
const copySource = (source: Partial<Location> | undefined) => ({
  'x-amz-copy-source': keyOf(source).slice('/s3'.length),
})

/** Copies a file into the first part of an upload. */
export function copiedPart(
  source: Partial<Location> | undefined,
  to: Partial<Location> | undefined,
  uploadId: string,
): Pick<Call, 'path' | 'headers'> {
  return { path: `${keyOf(to)}?uploadId=${uploadId}&partNumber=1`, headers: { ...copySource(source), ...condition } }
}

const readBucket: Need = { who: 'anybody signed in', scope: 'read', where: 'reach' }

/** A method that the endpoint lacks. */
const s3Lacks = (method: string): RouteRow => s3(method, { needs: signedIn, bounces: true }, () => ({ path: '/s3' }))

const s3Routes: Readonly<Record<string, RouteRow>> = {
  'GET /s3': s3('GET', { needs: { ...signedIn, scope: 'read' } }, () => ({ path: '/s3' })),
  'HEAD /s3': s3Lacks('HEAD'),
  'PUT /s3': s3Lacks('PUT'),
  'POST /s3': s3Lacks('POST'),
  'DELETE /s3': s3Lacks('DELETE'),
  'GET /s3/*': s3('GET', { needs: readPaths, takes: ['file'], effect: 'sent', audit: 'DOWNLOAD' }),
  'HEAD /s3/*': s3('HEAD', { needs: readPaths, takes: ['file'] }),
  'PUT /s3/*': s3('PUT', { needs: writePaths, takes: ['new'], effect: 'stored', audit: 'UPLOAD' }, target => ({
    body: uploaded(target),
  })),
  'PUT /s3/* over a file': s3(
    'PUT',
    { needs: writePaths, takes: ['replaced'], effect: 'stored', audit: 'UPLOAD' },
    target => ({ body: uploaded(target) }),
  ),
  'PUT /s3/* as a copy': s3(
    'PUT',
    { needs: writePaths, takes: ['source', 'new'], effect: 'copied', audit: 'COPY' },
    ({ locations: [source] }) => ({ headers: copySource(source) }),
  ),
  'PUT /s3/* as a conditional copy': s3(
    'PUT',
    { needs: writePaths, takes: ['source', 'new'], effect: 'copied', audit: 'COPY' },
    ({ locations: [source] }) => ({ headers: { ...copySource(source), ...condition } }),
  ),
  'DELETE /s3/*': s3('DELETE', { needs: writePaths, takes: ['doomed'], effect: 'gone', audit: 'DELETE' }),
  'POST /s3/*': s3('POST', { needs: signedIn, bounces: true }, () => ({ path: '/s3/bucket/key' })),
  'POST /s3/* deleting many': s3(
    'POST',
    { needs: { ...writePaths, inBody: true }, takes: ['doomed'], effect: 'gone', audit: 'DELETE' },
    s3Delete,
  ),
  'POST /s3/* as a form': s3('POST', { needs: writePaths, takes: ['new'], effect: 'stored', audit: 'UPLOAD' }, s3Form),
  'HEAD /s3/* of a bucket': s3Bucket('HEAD', { needs: readBucket }, ''),
  'PUT /s3/* of a bucket': s3Bucket('PUT', { needs: readBucket, bounces: true }, ''),
  'GET /s3/* of a location': s3Bucket('GET', { needs: readBucket }, '?location'),
  'GET /s3/* of the versioning': s3Bucket('GET', { needs: readBucket }, '?versioning'),
  'GET /s3/* of the versions': s3Bucket('GET', { needs: readBucket }, '?versions&max-keys=10'),
  'GET /s3/* of the tags': s3('GET', { needs: readPaths, takes: ['file'] }, ({ locations: [at] }) => ({
    path: `${keyOf(at)}?tagging`,
  })),
  // Without settings of the bucket, which would change other calls, a call about locks is refused after it is authorized.
  'GET /s3/* of the object lock': s3Bucket('GET', { needs: readBucket, bounces: true }, '?object-lock'),
  'PUT /s3/* of the object lock': s3(
    'PUT',
    { needs: { ...adminPaths, where: 'whole' }, takes: ['provider'], bounces: true },
    ({ locations: [at] }) => ({ path: `/s3/${encodeURIComponent(at?.provider ?? '')}?object-lock`, body: '<x/>' }),
  ),
  ...Object.fromEntries(
    ['retention', 'legal-hold'].flatMap(lock => [
      [
        `GET /s3/* of the ${lock}`,
        s3('GET', { needs: readPaths, takes: ['file'], bounces: true }, ({ locations: [at] }) => ({
          path: `${keyOf(at)}?${lock}`,
        })),
      ],
      [
        `PUT /s3/* of the ${lock}`,
        s3('PUT', { needs: adminPaths, takes: ['file'], bounces: true }, ({ locations: [at] }) => ({
          path: `${keyOf(at)}?${lock}`,
          body: lock === 'retention' ? '<Retention/>' : '<LegalHold><Status>ON</Status></LegalHold>',
        })),
      ],
    ]),
  ),
  'PUT /s3/* with a lock': s3('PUT', { needs: adminPaths, takes: ['new'], bounces: true }, ({ locations: [at] }) => ({
    path: keyOf(at),
    headers: { 'x-amz-object-lock-legal-hold': 'ON' },
    body: 'x',
  })),
  'GET /s3/* as a list': s3Bucket('GET', { needs: readBucket }, '?max-keys=10'),
  'GET /s3/* as a list of folders': s3Bucket('GET', { needs: readBucket }, '?list-type=2&max-keys=10&delimiter=%2F'),
  'GET /s3/* as a list of uploads': s3Bucket('GET', { needs: readBucket }, '?uploads'),
  'GET /s3/* as a list of parts': s3Upload('GET'),
  'PUT /s3/* as a part': s3Upload('PUT', 'part'),
  'PUT /s3/* as a copied part': s3(
    'PUT',
    { needs: writePaths, takes: ['source', 'new'], bounces: true, audit: 'PART_COPY' },
    ({ locations: [source, to] }) => copiedPart(source, to, 'x'.repeat(32)),
  ),
  'POST /s3/* completing an upload': s3Upload(
    'POST',
    `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${'0'.repeat(32)}</ETag></Part></CompleteMultipartUpload>`,
  ),
  'DELETE /s3/* of an upload': s3Upload('DELETE'),
}

/** Calls with an unknown share link, which no credential replaces. `shares.test.ts` tests those with a known one. */
const unknownShare = (method: string, endpoint: string): RouteRow => ({
  needs: { who: 'the holder of a link' },
  call: () => ({ method, path: `/api/share/stw_share_${'0'.repeat(40)}${endpoint}` }),
})
const shareRoutes = Object.fromEntries(
  [
    ...['GET', 'HEAD'].flatMap(method =>
      ['', '/entries', '/content', '/thumbnail', '/rendition'].map(endpoint => [method, endpoint]),
    ),
    ['POST', '/unlock'],
    ['POST', '/archive'],
    ['POST', '/files'],
    ['POST', '/uploads'],
    ['OPTIONS', '/uploads'],
    ...['HEAD', 'PATCH', 'DELETE', 'POST', 'OPTIONS'].map(method => [method, '/uploads/:id']),
  ].map(([method = '', endpoint = '']) => [`${method} /api/share/:token${endpoint}`, unknownShare(method, endpoint)]),
)

/** Calls of SCIM, which no credential of a member opens. `test/http/scim.test.ts` tests its token. */
const scim = (method: string, path: string): RouteRow => ({
  needs: { who: 'the holder of a link' },
  call: () => ({
    method,
    path: `/scim/v2${path.replace(':id', '00000000-0000-4000-8000-000000000000')}`,
    ...(['POST', 'PUT', 'PATCH'].includes(method) && {
      headers: { 'content-type': 'application/scim+json' },
      body: '{}',
    }),
    interpret: answer => ({
      ...answer,
      errors:
        answer.status === 401
          ? [{ message: '', extensions: { code: 'UNAUTHENTICATED', reason: 'INVALID_CREDENTIAL' } }]
          : [],
    }),
  }),
})
const scimRoutes = Object.fromEntries(
  [
    ...['/ServiceProviderConfig', '/ResourceTypes', '/ResourceTypes/:id', '/Schemas', '/Schemas/:id'].map(path => [
      'GET',
      path,
    ]),
    ...['/Users', '/Groups'].flatMap(path => [
      ...['GET', 'POST'].map(method => [method, path]),
      ...['GET', 'PUT', 'PATCH', 'DELETE'].map(method => [method, `${path}/:id`]),
    ]),
  ].map(([method = '', path = '']) => [`${method} /scim/v2${path}`, scim(method, path)]),
)

export const routes: Readonly<Record<string, RouteRow>> = {
  ...scimRoutes,
  ...shareRoutes,
  ...mcpTools,
  ...s3Routes,
  ...webdavRoutes,
  ...oauthRoutes,
  'POST /graphql': {
    needs: anyone,
    call: () => ({
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ __typename __schema { queryType { name } } }"}',
    }),
  },
  'GET /graphql': page('/graphql?query=%7B__typename%7D'),
  'GET /graphql for a field': {
    needs: signedIn,
    call: () => ({ method: 'GET', path: '/graphql?query=%7Bme%7Bid%7D%7D' }),
  },
  'HEAD /graphql': head('/graphql?query=%7B__typename%7D'),
  'GET /graphiql': page('/graphiql'),
  'HEAD /graphiql': head('/graphiql'),
  // All routes of the console serve the same page.
  'GET /': page('/'),
  'HEAD /': head('/'),
  'GET /sign-in': page('/sign-in'),
  'HEAD /sign-in': head('/sign-in'),
  'GET /register': page('/register'),
  'HEAD /register': head('/register'),
  'GET /reset-password': page('/reset-password'),
  'HEAD /reset-password': head('/reset-password'),
  'GET /link-account': page('/link-account'),
  'HEAD /link-account': head('/link-account'),
  'GET /connect': page('/connect'),
  'HEAD /connect': head('/connect'),
  'GET /oauth/authorize': page('/oauth/authorize'),
  'HEAD /oauth/authorize': head('/oauth/authorize'),
  'GET /files': page('/files'),
  'HEAD /files': head('/files'),
  'GET /files/*': page('/files/x'),
  'HEAD /files/*': head('/files/x'),
  'GET /insight': page('/insight'),
  'HEAD /insight': head('/insight'),
  'GET /insight/*': page('/insight/x'),
  'HEAD /insight/*': head('/insight/x'),
  'GET /search': page('/search'),
  'HEAD /search': head('/search'),
  'GET /recent': page('/recent'),
  'HEAD /recent': head('/recent'),
  'GET /activity': page('/activity'),
  'HEAD /activity': head('/activity'),
  'GET /starred': page('/starred'),
  'HEAD /starred': head('/starred'),
  'GET /upload': page('/upload'),
  'HEAD /upload': head('/upload'),
  'GET /offline': page('/offline'),
  'HEAD /offline': head('/offline'),
  'GET /shared-with-me': page('/shared-with-me'),
  'HEAD /shared-with-me': head('/shared-with-me'),
  'GET /shares': page('/shares'),
  'HEAD /shares': head('/shares'),
  'GET /jobs': page('/jobs'),
  'HEAD /jobs': head('/jobs'),
  'GET /jobs/*': page('/jobs/x'),
  'HEAD /jobs/*': head('/jobs/x'),
  'GET /trash': page('/trash'),
  'HEAD /trash': head('/trash'),
  'GET /trash/*': page('/trash/x'),
  'HEAD /trash/*': head('/trash/x'),
  'GET /settings': page('/settings'),
  'HEAD /settings': head('/settings'),
  'GET /settings/*': page('/settings/x'),
  'HEAD /settings/*': head('/settings/x'),
  'GET /s/*': page('/s/x'),
  'HEAD /s/*': head('/s/x'),
  'GET /icon.svg': page('/icon.svg'),
  'HEAD /icon.svg': head('/icon.svg'),
  'GET /service-worker.js': page('/service-worker.js'),
  'HEAD /service-worker.js': head('/service-worker.js'),
  'GET /icon-192.png': page('/icon-192.png'),
  'HEAD /icon-192.png': head('/icon-192.png'),
  'GET /icon-512.png': page('/icon-512.png'),
  'HEAD /icon-512.png': head('/icon-512.png'),
  'GET /icon-maskable.png': page('/icon-maskable.png'),
  'HEAD /icon-maskable.png': head('/icon-maskable.png'),
  'GET /apple-touch-icon.png': page('/apple-touch-icon.png'),
  'HEAD /apple-touch-icon.png': head('/apple-touch-icon.png'),
  'GET /manifest.webmanifest': { ...page('/manifest.webmanifest'), needs: { who: 'anyone', ignoresCookie: true } },
  'HEAD /manifest.webmanifest': { ...head('/manifest.webmanifest'), needs: { who: 'anyone', ignoresCookie: true } },
  'GET /assets/*': { ...page('/assets/none.js'), bounces: true },
  'HEAD /assets/*': { ...head('/assets/none.js'), bounces: true },
  'POST /console/session': {
    needs: { who: 'session in the header' },
    call: () => ({ method: 'POST', path: '/console/session' }),
  },
  'DELETE /console/session': {
    needs: { who: 'anyone', ignoresCookie: true },
    call: () => ({ method: 'DELETE', path: '/console/session' }),
  },
  'GET /healthz': page('/healthz'),
  'HEAD /healthz': head('/healthz'),
  'GET /readyz': page('/readyz'),
  'HEAD /readyz': head('/readyz'),
  'GET /openapi.json': page('/openapi.json'),
  'HEAD /openapi.json': head('/openapi.json'),
  'GET /oauth/start': { ...page('/oauth/start?ticket=unknown'), bounces: true },
  'GET /webhook/callback': { ...page('/webhook/callback?state=unknown&code=x'), bounces: true },
  'GET /auth/oidc/start': { ...page('/auth/oidc/start?next=/files'), bounces: true },
  'GET /auth/oidc/callback': { ...page('/auth/oidc/callback?state=unknown&code=x'), bounces: true },
  'GET /auth/oidc/callback/:issuer': { ...page('/auth/oidc/callback/unknown?state=unknown&code=x'), bounces: true },
  'GET /auth/oidc/frontchannel-logout': { ...page('/auth/oidc/frontchannel-logout?iss=x&sid=y'), bounces: true },
  'GET /auth/oidc/logout': { ...page('/auth/oidc/logout?ticket=x'), bounces: true },
  'POST /auth/oidc/backchannel-logout': {
    needs: { who: 'anyone' },
    bounces: true,
    call: () => ({
      method: 'POST',
      path: '/auth/oidc/backchannel-logout',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'logout_token=forged',
    }),
  },
  'POST /api/upload/proxy': {
    needs: writePaths,
    takes: ['new'],
    effect: 'stored',
    call: target => ({
      method: 'POST',
      path: query('/api/upload/proxy', target, '&conflict=fail'),
      headers: { 'content-type': 'application/octet-stream' },
      body: uploaded(target),
    }),
  },
  'POST /api/upload/proxy with an idempotency key': {
    needs: writePaths,
    takes: ['new'],
    effect: 'stored',
    call: target => ({
      method: 'POST',
      path: query('/api/upload/proxy', target),
      headers: { 'content-type': 'text/plain', 'idempotency-key': `"${target.n}"` },
      body: uploaded(target),
    }),
  },
  'POST /api/upload/proxy as a form': {
    needs: writePaths,
    takes: ['new'],
    effect: 'stored',
    call: target => ({ method: 'POST', path: '/api/upload/proxy', ...form(target) }),
  },
  'POST /api/upload/proxy over a file': {
    needs: writePaths,
    takes: ['replaced'],
    effect: 'stored',
    call: target => ({
      method: 'POST',
      path: query('/api/upload/proxy', target, '&conflict=replace'),
      headers: { 'content-type': 'application/octet-stream' },
      body: uploaded(target),
    }),
  },
  'POST /api/upload/resumable': {
    needs: writePaths,
    takes: ['new'],
    effect: 'stored',
    call: target => ({ method: 'POST', path: '/api/upload/resumable', ...createWithBody(target, 'fail') }),
  },
  'POST /api/upload/resumable over a file': {
    needs: writePaths,
    takes: ['replaced'],
    effect: 'stored',
    call: target => ({ method: 'POST', path: '/api/upload/resumable', ...createWithBody(target, 'replace') }),
  },
  'OPTIONS /api/upload/resumable': {
    needs: anyone,
    call: () => ({ method: 'OPTIONS', path: '/api/upload/resumable' }),
  },
  'OPTIONS /api/upload/resumable/:id': {
    needs: anyone,
    call: () => ({ method: 'OPTIONS', path: '/api/upload/resumable/unknown' }),
  },
  'HEAD /api/upload/resumable/:id': unknownUpload('HEAD'),
  'PATCH /api/upload/resumable/:id': unknownUpload('PATCH'),
  'DELETE /api/upload/resumable/:id': unknownUpload('DELETE'),
  'POST /api/upload/resumable/:id': unknownUpload('POST', { 'x-http-method-override': 'DELETE' }),
  // The workspace of the matrix has no logo.
  'GET /api/logo': { ...page('/api/logo'), needs: { who: 'anyone', ignoresCookie: true }, bounces: true },
  'HEAD /api/logo': { ...head('/api/logo'), needs: { who: 'anyone', ignoresCookie: true }, bounces: true },
  'GET /api/search': {
    needs: readPaths,
    takes: ['entry'],
    call: target => ({ method: 'GET', path: query('/api/search', target, '&text=seed') }),
  },
  'HEAD /api/search': {
    needs: { who: 'anybody signed in', scope: 'read' },
    call: () => ({ method: 'HEAD', path: '/api/search?text=seed' }),
  },
  'GET /api/jobs/report': {
    needs: { who: 'anybody signed in', scope: 'read' },
    bounces: true,
    call: ({ ids }) => ({ method: 'GET', path: `/api/jobs/report?id=${ids.job}` }),
  },
  'HEAD /api/jobs/report': {
    needs: { who: 'anybody signed in', scope: 'read' },
    bounces: true,
    call: ({ ids }) => ({ method: 'HEAD', path: `/api/jobs/report?id=${ids.job}&format=csv` }),
  },
  'GET /api/search everywhere': {
    needs: { who: 'anybody signed in', scope: 'read' },
    call: () => ({ method: 'GET', path: '/api/search?text=seed' }),
  },
  'GET /api/download/proxy': {
    needs: readPaths,
    takes: ['file'],
    effect: 'sent',
    call: target => ({ method: 'GET', path: query('/api/download/proxy', target) }),
  },
  'HEAD /api/download/proxy': {
    needs: readPaths,
    takes: ['file'],
    call: target => ({ method: 'HEAD', path: query('/api/download/proxy', target) }),
  },
  'GET /api/download/proxy of a version': {
    needs: readPaths,
    takes: ['versioned'],
    call: target => ({
      method: 'GET',
      path: `${query('/api/download/proxy', target)}&version=${versionId(target)}`,
    }),
  },
  'GET /api/download/proxy of a folder': {
    needs: readPaths,
    takes: ['folder'],
    effect: 'archived',
    call: target => ({ method: 'GET', path: query('/api/download/proxy', target) }),
  },
  // Without a ticket. `test/matrix/at-once.test.ts` follows links.
  'GET /api/download/proxy/:name': { ...page('/api/download/proxy/seed.txt'), bounces: true },
  'HEAD /api/download/proxy/:name': { ...head('/api/download/proxy/seed.txt'), bounces: true },
  // The files of the matrix are texts, which have no thumbnails. `test/thumbnails/` has pictures.
  'GET /api/thumbnail': {
    needs: readPaths,
    takes: ['file'],
    bounces: true,
    call: target => ({ method: 'GET', path: query('/api/thumbnail', target) }),
  },
  'HEAD /api/thumbnail': {
    needs: readPaths,
    takes: ['file'],
    bounces: true,
    call: target => ({ method: 'HEAD', path: query('/api/thumbnail', target) }),
  },
  // Nor are they office documents. `test/thumbnails/` and `test/nightly/` have some.
  'GET /api/rendition': {
    needs: readPaths,
    takes: ['file'],
    bounces: true,
    call: target => ({ method: 'GET', path: query('/api/rendition', target) }),
  },
  'HEAD /api/rendition': {
    needs: readPaths,
    takes: ['file'],
    bounces: true,
    call: target => ({ method: 'HEAD', path: query('/api/rendition', target) }),
  },
  'POST /api/download/archive': {
    needs: readPaths,
    takes: ['file'],
    effect: 'archived',
    audit: 'DOWNLOAD',
    call: archiveOf,
  },
}
