import { texts } from '../../texts/settings.tsx'

/** Lists which providers may be used. */
export function AccessSummary({
  access,
}: {
  access: { all: boolean; restrictions: readonly { basePath: string; provider: { id: string; name: string } }[] }
}) {
  if (access.all) return texts.allStorages
  if (access.restrictions.length === 0) return texts.noConnectedStorage
  return (
    <ul>
      {access.restrictions.map(({ provider, basePath }) => (
        <li key={`${provider.id}${basePath}`}>
          {provider.name}
          {basePath !== '/' && <span className="mono"> {basePath}</span>}
        </li>
      ))}
    </ul>
  )
}
