import { isLoopback } from '../../lib/loopback.ts'
import { isFileSetting } from '../../settings/files.ts'
import { definitions, type Settings } from '../../settings/index.ts'
import { type Finding, ok, warning } from './finding.ts'

const subject = 'Settings'
/** The command line reads these. */
const ofClients = ['STOWAGE_URL', 'STOWAGE_API_KEY']

export function checkSettings(settings: Settings, environment: Record<string, string | undefined>): Finding[] {
  const { publicUrl, trustedProxies, setupCode, host } = settings
  const isPublic = !isLoopback(host)
  const found = [
    ...unknownNames(environment).map(name =>
      warning(subject, `${name} is not a setting: correct its name, or remove it.`),
    ),
    ...(publicUrl?.startsWith('http://') && !isLoopback(new URL(publicUrl).hostname)
      ? [
          warning(
            subject,
            'STOWAGE_PUBLIC_URL begins with "http://": use a proxy with HTTPS, or passwords can be read.',
          ),
        ]
      : []),
    ...(publicUrl?.startsWith('https://') && trustedProxies.length === 0
      ? [
          warning(
            subject,
            'STOWAGE_TRUST_PROXY is not set: set it to the address of the proxy, or limits count all clients as one.',
          ),
        ]
      : []),
    ...(isPublic && setupCode === null
      ? [warning(subject, 'STOWAGE_SETUP_CODE is not set: until the workspace has an owner, anyone can become it.')]
      : []),
  ]
  return found.length > 0 ? found : [ok(subject, 'All settings are valid.')]
}

function unknownNames(environment: Record<string, string | undefined>): string[] {
  return Object.keys(environment).filter(name => {
    const setting = name.replace(/_FILE$/, '')
    const isKnown = name in definitions || (setting !== name && isFileSetting(setting)) || ofClients.includes(name)
    return name.startsWith('STOWAGE_') && !isKnown
  })
}
