import { useCallback, useState } from 'react'
import { Link, useLocation, useNavigate, useNavigationType } from 'react-router'
import { ancestors, childPath, nameOfPath, parentPath } from '../../api/locations.ts'
import { texts } from '../../texts/files.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { folderHref } from '../addresses.ts'
import type { dropTarget } from '../dragging.ts'
import type { Entry, Provider } from '../operations.ts'
import { type FolderPosition, positionIn } from '../selection.ts'

/** The path from the topmost folder that the viewer may see. The open folder is the heading of the page. */
export function Breadcrumb({
  provider,
  path,
  targetOf,
}: {
  provider: Provider
  path: string
  /** Returns the handlers of a folder that accepts dragged entries. */
  targetOf: (name: string, path: string) => Partial<ReturnType<typeof dropTarget>>
}) {
  const { id, name, root } = provider
  const trail = [{ name, path: root.path }, ...ancestors(path, root.path)]
  return (
    <nav aria-label={texts.path} className="breadcrumb">
      <ol>
        <li>
          <Link to="/files">{texts.home}</Link>
        </li>
        {trail.map((step, index) => (
          <li key={step.path}>
            {index === trail.length - 1 ? (
              <>
                <PageTitle>{step.name}</PageTitle>
                <h1 aria-current="page" dir="auto">
                  {step.name}
                </h1>
              </>
            ) : (
              <Link to={folderHref(id, step.path)} dir="auto" {...targetOf(step.name, step.path)}>
                {step.name}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}

/** Set on navigation from another folder. */
interface Arrival {
  /** The folder that the person came from, if it is in this one. */
  folder: string | null
}

/** The ways out of a folder, and the position in it where a person arrives. */
export function useNavigation(provider: Provider, path: string) {
  const { id: providerId, root } = provider
  const navigate = useNavigate()
  const { state: arrival }: { state: Arrival | null } = useLocation()
  const isReturn = useNavigationType() === 'POP'
  const href = folderHref(providerId, path)
  const [startPosition] = useState((): FolderPosition | null => {
    const arrivalPosition = arrival && { focused: arrival.folder === null ? null : `/${arrival.folder}`, top: null }
    return (isReturn ? positionIn(href) : null) ?? arrivalPosition
  })
  const hrefOf = useCallback(
    ({ __typename, name }: Entry) =>
      __typename === 'Folder'
        ? folderHref(providerId, childPath(path, name))
        : `${folderHref(providerId, path)}?file=${encodeURIComponent(name)}`,
    [providerId, path],
  )
  const open = useCallback(
    (entry: Entry) => {
      const arrival: Arrival = { folder: null }
      void navigate(hrefOf(entry), entry.__typename === 'Folder' ? { state: arrival } : {})
    },
    [navigate, hrefOf],
  )
  const up = useCallback(() => {
    const arrival: Arrival = { folder: nameOfPath(path) }
    if (path === root.path) void navigate('/files')
    else void navigate(folderHref(providerId, parentPath(path)), { state: arrival })
  }, [navigate, path, root.path, providerId])
  return { href, startPosition, hrefOf, open, up }
}
