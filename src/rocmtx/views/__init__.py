"""Drawing: state and facts to text, HTML, widgets and figures. Views subscribe; nobody calls a view."""
