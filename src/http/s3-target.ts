/** Resolves the address of an S3 request once. Routing, lookups and the verification of its signature use the result. */
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Settings } from '../settings/index.ts'
import { type CanonicalAddress, splitUrl } from './url.ts'

/** The region in which all buckets are: the default of most clients. */
export const s3Region = 'us-east-1'

/** The path of the S3 endpoint. Requests to the S3 domain are rewritten to it. */
export const s3Path = '/s3'

/** The bucket and the key that an S3 request names, in the form that its client signs. */
export interface S3Target {
  /** Below `/s3` of the server, at the S3 domain, or at the host name of a bucket. */
  style: 'server' | 'domain' | 'bucket'
  /** The canonical host as text: what the client sent as Host, unless a trusted proxy or the request target says otherwise. */
  host: string
  /** Percent-encoded, as it arrived, with the base path if the proxy keeps it. */
  signedPath: string
  /** Null for the endpoint itself. */
  bucket: string | null
  /** Empty for the bucket itself. */
  key: string
}

export type S3Settings = Pick<Settings, 's3Domain' | 'publicUrl' | 'basePath'>

const targets = new WeakMap<IncomingMessage, S3Target>()

/** Returns the target of a request to the S3 endpoint; null if its URL is malformed. */
export function findS3Target({ raw }: Pick<FastifyRequest, 'raw'>): S3Target | null {
  return targets.get(raw) ?? null
}

/**
 * Resolves the address of a request, and keeps the target of a request to S3.
 * @returns the URL that the routes match: in path style, and without the base path
 */
export function routeUrl(request: IncomingMessage, { host, url }: CanonicalAddress, settings: S3Settings): string {
  const [path] = splitUrl(url)
  // The target of "OPTIONS *" names nothing.
  if (!url.startsWith('/')) return url
  const target = resolve({ host, path }, settings)
  if (target) targets.set(request, target)
  const name = nameInDomain(host, settings.s3Domain)
  if (name === null) return withoutBasePath(url, settings.basePath)
  return name === '' ? `${s3Path}${url}` : `${s3Path}/${encodeURIComponent(name)}${url}`
}

/**
 * Yields the target in the forms in which its client may have signed it. At the S3 domain there is one, because the host is a part
 * of what the request names. Below `/s3`, the server has a public name, too, and a proxy may remove the base path. Each form
 * resolves to the same bucket and key.
 */
export function* signedForms(target: S3Target, settings: S3Settings): Generator<S3Target, void, undefined> {
  yield target
  if (target.style !== 'server') return
  const { publicUrl, basePath } = settings
  const { host, signedPath, bucket, key } = target
  const own = withoutBasePath(signedPath, basePath)
  const hosts = new Set([host, publicUrl === null ? host : new URL(publicUrl).host])
  for (const name of hosts) {
    for (const path of new Set([own, basePath + own])) {
      const form = resolve({ host: name, path }, settings)
      const isArrived = name === host && path === signedPath
      if (!isArrived && form?.style === 'server' && form.bucket === bucket && form.key === key) yield form
    }
  }
}

/** Returns null for an address of another endpoint, and for a malformed one. */
function resolve({ host, path }: { host: string; path: string }, { s3Domain, basePath }: S3Settings): S3Target | null {
  const name = nameInDomain(host, s3Domain)
  const named = { host, signedPath: path }
  if (name !== null) {
    const decoded = decode(path.slice(1))
    if (decoded === null) return null
    if (name !== '') return { style: 'bucket', ...named, bucket: name, key: decoded }
    return below('domain', named, decoded)
  }
  const own = withoutBasePath(path, basePath)
  if (own !== s3Path && !own.startsWith(`${s3Path}/`)) return null
  const decoded = decode(own.slice(s3Path.length + 1))
  return decoded === null ? null : below('server', named, decoded)
}

/**
 * Divides a decoded path. Signatures cover the decoded path, so "%2F" has to mean what "/" means. Returns null for a key without a
 * bucket.
 */
function below(
  style: 'server' | 'domain',
  named: Pick<S3Target, 'host' | 'signedPath'>,
  path: string,
): S3Target | null {
  const [bucket = '', ...segments] = path.split('/')
  const key = segments.join('/')
  return bucket === '' && key !== '' ? null : { style, ...named, bucket: bucket === '' ? null : bucket, key }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Returns the name below the S3 domain, in lowercase; empty for the domain itself, null for any other host. */
function nameInDomain(host: string, domain: string | null): string | null {
  if (domain === null) return null
  const name = host
    .toLowerCase()
    .replace(/:\d{0,5}$/, '')
    .replace(/\.$/, '')
  if (name === domain) return ''
  const below = name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : ''
  return below === '' ? null : below
}

/** Returns the URL of the S3 endpoint for clients that reach the server at `baseUrl`. */
export function s3EndpointOf(baseUrl: string, domain: string | null): string {
  if (domain === null) return `${baseUrl}${s3Path}`
  const url = new URL(baseUrl)
  url.hostname = domain
  return url.origin
}

/**
 * Returns the URL of a request without the base path, so that a proxy may remove it or not.
 * @param basePath "/stowage"; empty if there is none
 */
function withoutBasePath(url: string, basePath: string): string {
  if (basePath === '' || !url.startsWith(basePath)) return url
  const rest = url.slice(basePath.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url
}
