import { Link } from 'react-router'
import { ancestors } from '../../api/paths.ts'
import { texts } from '../../texts/files.tsx'
import { PageTitle } from '../../ui/page-title.tsx'
import { folderHref } from '../addresses.ts'
import type { dropTarget } from '../dragging.ts'
import type { Provider } from '../operations.ts'

/** The path from the topmost folder that the viewer may see. The open folder is the heading of the page. */
export function Breadcrumb({
  provider,
  path,
  targetOf,
}: {
  provider: Provider
  path: string
  /** Returns the handlers of a folder that accepts dragged entries. */
  targetOf: (path: string) => Partial<ReturnType<typeof dropTarget>>
}) {
  const { id, name, root } = provider
  const trail = [{ name, path: root.path }, ...ancestors(path, root.path)]
  return (
    <nav aria-label={texts.path} className="breadcrumb">
      <ol>
        <li>
          <Link to="/files">{texts.files}</Link>
        </li>
        {trail.map((step, index) => (
          <li key={step.path}>
            {index === trail.length - 1 ? (
              <>
                <PageTitle>{step.name}</PageTitle>
                <h1 aria-current="page">{step.name}</h1>
              </>
            ) : (
              <Link to={folderHref(id, step.path)} {...targetOf(step.path)}>
                {step.name}
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}
