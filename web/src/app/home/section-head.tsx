import { Link } from 'react-router'
import { Icon } from '../../ui/icons.tsx'

/** The heading of a section, with a link to the page that shows all of it. */
export function SectionHead({ id, title, href, link }: { id: string; title: string; href: string; link: string }) {
  return (
    <div className="section-head">
      <h2 id={id}>{title}</h2>
      <Link to={href}>
        {link}
        <Icon name="right" />
      </Link>
    </div>
  )
}
