/** Lists which providers may be used. */
export function AccessSummary({
  access,
}: {
  access: { all: boolean; restrictions: readonly { basePath: string; provider: { id: string; name: string } }[] }
}) {
  if (access.all) return <>All storages</>
  if (access.restrictions.length === 0) return <>No connected storage</>
  return (
    <ul>
      {access.restrictions.map(({ provider, basePath }) => (
        <li key={provider.id}>
          {provider.name}
          {basePath !== '/' && <span className="mono"> {basePath}</span>}
        </li>
      ))}
    </ul>
  )
}
