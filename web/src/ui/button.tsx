import { Button as AriaButton, type ButtonProps } from 'react-aria-components'

type Variant = 'default' | 'primary' | 'danger' | 'quiet'

/** While `isPending` it keeps the focus and cannot be pressed again. */
export function Button({
  variant = 'default',
  className,
  ...props
}: ButtonProps & { variant?: Variant; className?: string }) {
  return <AriaButton {...props} className={`button ${variant} ${className ?? ''}`} />
}
