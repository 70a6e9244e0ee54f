import { parseEndpoint, parsePrefix } from '../../bases/objects/keys.ts'
import { type ConfigSchema, StorageError } from '../../contract.ts'

export type AzureBlobConfig = {
  account: string
  container: string
  access: 'key' | 'sas' | 'application' | 'person'
  accountKey?: string
  sas?: string
  tenantId?: string
  clientId?: string
  clientSecret?: string
  endpoint?: string
  prefix: string
}

const entraId = (what: string) => ({
  type: 'string',
  description: what,
  pattern: '^[A-Za-z0-9.-]{1,128}$',
})

const entraProperties = ['tenantId', 'clientId', 'clientSecret']

const storageAccounts = {
  title: 'Storage accounts',
  url: 'https://portal.azure.com/#browse/Microsoft.Storage%2FStorageAccounts',
}

const appRegistrations = {
  title: 'App registrations',
  url: 'https://entra.microsoft.com/#view/Microsoft_AAD_RegisteredApps/ApplicationsListBlade',
}

/**
 * Credentials are required. Those of the server's own environment, such as its managed identity, would be used on behalf of
 * everybody who can connect a provider.
 */
export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    account: {
      type: 'string',
      title: 'Storage account',
      description: 'The name of the account, such as teamfiles.',
      pattern: '^[a-z0-9]{3,24}$',
    },
    container: {
      type: 'string',
      title: 'Container',
      description: 'The name of a container that exists.',
      pattern: '^(\\$root|\\$web|[a-z0-9][a-z0-9-]{2,62})$',
      keepsSecrets: true,
    },
    access: {
      type: 'string',
      title: 'Access with',
      description:
        'key: the key of the account. sas: a shared access signature. application: an application of Microsoft Entra with its own rights. person: the rights of a person, who gives consent.',
      enum: ['key', 'sas', 'application', 'person'],
      default: 'key',
    },
    accountKey: {
      type: 'string',
      title: 'Account key',
      description: 'One of the two keys of the account.',
      maxLength: 256,
      writeOnly: true,
    },
    sas: {
      type: 'string',
      title: 'Shared access signature',
      description: 'The token, which has "sig=" in it, for the container or the account.',
      maxLength: 4096,
      writeOnly: true,
    },
    tenantId: { title: 'Directory (tenant) ID', ...entraId('The directory that the application is in.') },
    clientId: { title: 'Application (client) ID', ...entraId('The application that is registered for Stowage.') },
    clientSecret: {
      type: 'string',
      title: 'Client secret',
      description: 'The value of a secret of this application.',
      maxLength: 1024,
      writeOnly: true,
    },
    prefix: {
      type: 'string',
      title: 'Folder in the container',
      description:
        'Advanced: serves only the content of this folder, such as team/files. Empty for the whole container.',
      default: '',
      maxLength: 512,
      keepsSecrets: true,
    },
    endpoint: {
      type: 'string',
      title: 'Endpoint',
      description:
        'Advanced: the address of the blob service, where it is not https://<account>.blob.core.windows.net, such as that of another cloud.',
      pattern: '^https?://',
    },
  },
  required: ['account', 'container', 'access', 'prefix'],
  choices: [
    {
      title: 'Sign in with',
      options: [
        {
          title: 'The key of the account',
          description: 'The shortest way. It opens the whole account.',
          values: { access: 'key' },
          properties: ['accountKey'],
          required: ['accountKey'],
          steps: [
            {
              text: 'Open the storage account, and copy one of its keys under “Security + networking”, “Access keys”.',
              link: storageAccounts,
            },
          ],
        },
        {
          title: 'A shared access signature',
          description: 'For one container, and until a date.',
          values: { access: 'sas' },
          properties: ['sas'],
          required: ['sas'],
          steps: [
            {
              text: 'Open the container, and generate a token under “Shared access tokens” with the permissions Read, Add, Create, Write, Delete and List.',
              link: storageAccounts,
            },
            { text: 'Copy the “Blob SAS token” into the field below. The storage stops working when it expires.' },
          ],
        },
        {
          title: 'An application of Microsoft Entra',
          description: 'With rights of its own, which an administrator can withdraw.',
          values: { access: 'application' },
          properties: entraProperties,
          required: entraProperties,
          steps: [
            { text: 'Register an application, and create a client secret for it.', link: appRegistrations },
            {
              text: 'Give the application the role “Storage Blob Data Contributor” under “Access control (IAM)” of the storage account.',
              link: storageAccounts,
            },
          ],
        },
        {
          title: 'A person',
          description: 'Who gives consent in the browser.',
          values: { access: 'person' },
          properties: entraProperties,
          required: entraProperties,
          steps: [
            {
              text: 'Register an application with this redirect URI for the platform “Web”:',
              link: appRegistrations,
              showsRedirectAddress: true,
            },
            {
              text: 'Add the delegated permission user_impersonation of Azure Storage, and create a client secret.',
            },
            {
              text: 'Give the person the role “Storage Blob Data Contributor” under “Access control (IAM)” of the storage account.',
              link: storageAccounts,
            },
          ],
        },
      ],
    },
  ],
}

/** Returns the address that signs people and applications in, ending in `/`. */
export function authorityOf({ hostname }: URL): string {
  if (hostname.endsWith('.chinacloudapi.cn')) return 'https://login.partner.microsoftonline.cn/'
  if (hostname.endsWith('.usgovcloudapi.net')) return 'https://login.microsoftonline.us/'
  return 'https://login.microsoftonline.com/'
}

/** The proof of who sends a request. */
export type Credentials =
  | { kind: 'key'; key: Buffer }
  | { kind: 'sas'; query: Readonly<Record<string, string>> }
  | ({ kind: 'application' | 'person' } & EntraClient)

export interface EntraClient {
  tenantId: string
  clientId: string
  clientSecret: string
}

export interface AzureSettings {
  account: string
  container: string
  credentials: Credentials
  /** The address of the blob service, ending in `/`. */
  endpoint: URL
  /** The address of the service for hierarchical namespaces; undefined where only Microsoft's naming could tell it. */
  dfsEndpoint: URL | undefined
  /** The prefix of every blob: empty, or ending in `/`. */
  base: string
  /** True for an address of Microsoft's own service. */
  isAzure: boolean
  /** The start of every `fileId`: the same for all prefixes. Ends in `/`. */
  storeId: string
}

/** The domains of Microsoft's clouds. */
const azureDomain =
  /^[a-z0-9]+\.(?:z\d{1,2}\.)?(?:blob|dfs)\.(?:core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|storage\.azure\.net)$/

/** @throws INVALID_CONFIG */
export function parseConfig(config: AzureBlobConfig): AzureSettings {
  const { account, container, prefix } = config
  const credentials = parseCredentials(config)
  const endpoint = endpointOf(config.endpoint || `https://${account}.blob.core.windows.net`)
  const isAzure = azureDomain.test(endpoint.hostname)
  const isToken = credentials.kind === 'application' || credentials.kind === 'person'
  if (isToken && endpoint.protocol === 'http:') {
    throw new StorageError('INVALID_CONFIG', 'Tokens of Microsoft Entra need an endpoint with https://.')
  }
  return {
    account,
    container,
    credentials,
    endpoint,
    dfsEndpoint: isAzure ? new URL(endpoint.href.replace('.blob.', '.dfs.')) : undefined,
    base: parsePrefix(prefix, name => name !== '' && !/[\0\\]|\.$/.test(name), prefixRule),
    isAzure,
    storeId: `azure-blob:${endpoint.href}${container}/`,
  }
}

/** @throws INVALID_CONFIG */
function parseCredentials(config: AzureBlobConfig): Credentials {
  const { access } = config
  if (access === 'key') {
    if (!config.accountKey) throw missing('the account key')
    return { kind: access, key: parseKey(config.accountKey) }
  }
  if (access === 'sas') {
    if (!config.sas) throw missing('the shared access signature')
    return { kind: access, query: parseSas(config.sas) }
  }
  return { kind: access, ...requireClient(config) }
}

/** @throws INVALID_CONFIG */
export function requireClient({ tenantId, clientId, clientSecret }: AzureBlobConfig): EntraClient {
  if (!tenantId) throw missing('the directory (tenant) ID')
  if (!clientId) throw missing('the application (client) ID')
  if (!clientSecret) throw missing('the client secret')
  return { tenantId, clientId, clientSecret }
}

function missing(what: string): StorageError {
  return new StorageError('INVALID_CONFIG', `This kind of access needs ${what}: enter it, or choose another kind.`)
}

function endpointOf(text: string): URL {
  const url = parseEndpoint(text, 'https://teamfiles.blob.core.windows.net')
  if (azureDomain.test(url.hostname)) url.hostname = url.hostname.replace('.dfs.', '.blob.')
  url.pathname = url.pathname.replace(/\/?$/, '/')
  return url
}

const prefixRule =
  'The folder in the container is a list of names separated by "/". No name ends with "." or contains "\\" or a NUL.'

/** @throws INVALID_CONFIG */
function parseKey(text: string): Buffer {
  const trimmed = text.trim()
  const key = Buffer.from(trimmed, 'base64')
  if (key.length === 0 || key.toString('base64') !== trimmed) {
    const message = 'The account key is not complete: copy it again from "Access keys" of the storage account.'
    throw new StorageError('INVALID_CONFIG', message)
  }
  return key
}

/** Parses a token or an address with one. @throws INVALID_CONFIG */
function parseSas(text: string): Readonly<Record<string, string>> {
  const trimmed = text.trim()
  const query = Object.fromEntries(new URLSearchParams(trimmed.slice(trimmed.indexOf('?') + 1)))
  if (!query.sig || !query.sv) {
    const message = 'The shared access signature is not complete: it has "sv=" and "sig=" in it. Copy it again.'
    throw new StorageError('INVALID_CONFIG', message)
  }
  return query
}
