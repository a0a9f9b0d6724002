/** The version of this front end; a test keeps it equal to package.json and to the Python package. */
export const VERSION = '0.1.0';
